pinion_program(elastic_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/elastic_bench.cpp
  LINK extender_elastic bench_main)
