find_package(rapidcheck REQUIRED)

pinion_test(extender_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_gang_test.cpp ${CMAKE_CURRENT_LIST_DIR}/extender_fleet_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/extender_scheduling_test.cpp
  LINK extender_scheduling test_support rapidcheck rapidcheck_gtest
  LABEL property)

pinion_test(cluster_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/cluster_scheduler_test.cpp
  LINK cluster_core test_support
  LABEL property LONG)

pinion_test(extender_election_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_election_test.cpp
  LINK extender_election rapidcheck rapidcheck_gtest
  LABEL property)

find_package(nlohmann_json REQUIRED)
pinion_test(extender_wire_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_wire_test.cpp
  LINK extender_wire nlohmann_json::nlohmann_json rapidcheck rapidcheck_gtest
  LABEL property)

pinion_test(extender_jobs_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_jobs_test.cpp
  LINK extender_jobs test_support rapidcheck rapidcheck_gtest
  LABEL property)

pinion_test(planned_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/planned_test.cpp
  LINK extender_scheduling engine test_support
  LABEL property LONG)
