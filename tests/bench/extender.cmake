pinion_program(extender_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/busy_fleet.cpp
  LINK cluster_core test_support bench_main)

pinion_program(scheduler_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/scheduler_bench.cpp
  LINK cluster_core test_support benchmark::benchmark)

pinion_program(extender_calls_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_calls_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/busy_fleet.cpp
  LINK extender_service test_support nlohmann_json::nlohmann_json bench_main)

pinion_program(pinion-streams-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/streams_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/streams_player.cpp
  LINK extender_agents extender_scheduling extender_kube agent_api test_support CLI11::CLI11)
