find_package(benchmark REQUIRED)
find_package(nlohmann_json REQUIRED)

# main() of the Google Benchmark programs.
pinion_library(bench_main
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/bench_main.cpp ${CMAKE_CURRENT_LIST_DIR}/reference_loop.cpp
  LINK benchmark::benchmark)

pinion_library(bench_measurements
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/measurements.cpp
  LINK nlohmann_json::nlohmann_json)
