find_package(benchmark REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

pinion_bench_go(extender-wire-go wire_go)

pinion_program(extender_wire_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_wire_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/extender_wire_table.cpp
  LINK extender_wire lab test_support CLI11::CLI11 nlohmann_json::nlohmann_json benchmark::benchmark)
