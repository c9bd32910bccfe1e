find_package(rapidcheck REQUIRED)

pinion_test(extender_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_gang_test.cpp ${CMAKE_CURRENT_LIST_DIR}/extender_fleet_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/extender_desk_test.cpp
  LINK extender_desk test_support rapidcheck rapidcheck_gtest
  LABELS property)

pinion_test(extender_election_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_election_test.cpp
  LINK extender_election rapidcheck rapidcheck_gtest
  LABELS property)
