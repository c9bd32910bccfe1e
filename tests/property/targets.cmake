pinion_test(service_targets_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/targets_test.cpp
  LINK service_targets rapidcheck rapidcheck_gtest
  LABEL property)
