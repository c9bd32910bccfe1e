find_package(rapidcheck REQUIRED)

pinion_test(slurm_properties
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/slurm_decide_test.cpp
  LINK slurm_core rapidcheck rapidcheck_gtest
  LABEL property)
