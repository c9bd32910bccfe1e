find_package(rapidcheck REQUIRED)

pinion_test(topology_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/topology_allocate_test.cpp ${CMAKE_CURRENT_LIST_DIR}/topology_holes_test.cpp
  LINK topology test_support rapidcheck rapidcheck_gtest
  LABEL property)
