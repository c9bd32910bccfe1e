find_package(CLI11 REQUIRED)

pinion_program(counting_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/counting_bench.cpp
  LINK collector bench_measurements CLI11::CLI11)
