pinion_test(unit_ctl_topology
  SOURCES text_test.cpp draw_topology_test.cpp topology_command_test.cpp
  LINK ctl_machine test_support)
if(TARGET unit_ctl_topology)
  target_compile_definitions(unit_ctl_topology PRIVATE PINIONCTL="$<TARGET_FILE:pinionctl>")
  add_dependencies(unit_ctl_topology pinionctl)
endif()
