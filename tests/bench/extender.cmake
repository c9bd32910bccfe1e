find_package(benchmark REQUIRED)

pinion_program(extender_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_bench.cpp
  LINK extender_core test_support benchmark::benchmark)
