pinion_test(ctl_plan_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/requests_file_test.cpp ${CMAKE_CURRENT_LIST_DIR}/draw_plan_test.cpp
  LINK ctl_plan test_support
  LABELS unit)
