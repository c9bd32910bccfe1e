find_package(rapidcheck REQUIRED)

pinion_test(extender_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_gang_test.cpp ${CMAKE_CURRENT_LIST_DIR}/extender_fleet_test.cpp
  LINK extender_core test_support rapidcheck rapidcheck_gtest
  LABELS property)
