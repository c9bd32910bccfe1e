pinion_program(expose_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/expose_bench.cpp
    ${CMAKE_CURRENT_LIST_DIR}/../unit/http/example_node.cpp
  LINK agent_http test_support bench_main)
