pinion_test(agent_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_engine_test.cpp ${CMAKE_CURRENT_LIST_DIR}/agent_sim.cpp
          ${CMAKE_CURRENT_LIST_DIR}/agent_sim_runtime.cpp
  LINK engine test_support
  LABEL property LONG)

pinion_test(systemd_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/systemd_cpu_bytes_test.cpp
  LINK systemd rapidcheck rapidcheck_gtest
  LABEL property)
