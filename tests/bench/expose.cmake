pinion_program(expose_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/expose_bench.cpp
    ${CMAKE_CURRENT_LIST_DIR}/../unit/http/example_node.cpp
  LINK agent_http test_support bench_main)

# By hand: why metrics/prometheus/writer.h is not prometheus-cpp.
pkg_check_modules(PROMETHEUS_CPP REQUIRED IMPORTED_TARGET prometheus-cpp-core)
pinion_program(exposition_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/exposition_bench.cpp
    ${CMAKE_CURRENT_LIST_DIR}/../unit/http/example_node.cpp
  LINK agent_http test_support bench_main PkgConfig::PROMETHEUS_CPP)
