find_package(benchmark REQUIRED)
find_package(nlohmann_json REQUIRED)

pinion_program(extender_wire_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_wire_bench.cpp
  LINK extender_kube extender_pods extender_wire nlohmann_json::nlohmann_json benchmark::benchmark)
