find_package(benchmark REQUIRED)

pinion_program(extender_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_bench.cpp
  LINK extender_core test_support benchmark::benchmark)

pinion_program(pinion-streams-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/streams_bench.cpp
  LINK extender_agents extender_desk agent_api test_support CLI11::CLI11)
