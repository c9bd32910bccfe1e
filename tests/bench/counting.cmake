pinion_program(counting_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/counting_bench.cpp
  LINK collector)
