pinion_program(engine_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/engine_bench.cpp
  LINK engine test_support bench_main)
