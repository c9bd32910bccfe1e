foreach(bench fence isolation)
  pinion_program(pinion-${bench}-bench
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${bench}_bench.cpp
    LINK lab discover bench_measurements CLI11::CLI11)
  add_dependencies(pinion-${bench}-bench pinion-lab-guard pinion-pause pinion-agent)
endforeach()
