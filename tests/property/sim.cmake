pinion_test(sim_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/sim_pool_test.cpp ${CMAKE_CURRENT_LIST_DIR}/sim_elastic_test.cpp
  LINK sim_files test_support rapidcheck rapidcheck_gtest
  LABEL property)
