pinion_program(allocate_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/allocate_bench.cpp
  LINK topology test_support bench_main)
