# Text and arithmetic without any I/O; the demo uses them too.
pinion_pure_library(ctl_text
  SOURCES text.cpp table.cpp draw_topology.cpp core_cells.cpp
  LINK topology)

pinion_pure_library(comparison
  SOURCES comparison.cpp comparison_table.cpp comparison_svg.cpp
  LINK ctl_text)
