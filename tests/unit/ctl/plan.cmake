pinion_test(ctl_plan_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/requests_file_test.cpp ${CMAKE_CURRENT_LIST_DIR}/draw_plan_test.cpp
  LINK ctl_plan test_support
  LABEL unit)

# Beside the agent itself.
pinion_test(ctl_plan_agreement_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/plan_agreement_test.cpp ${CMAKE_CURRENT_LIST_DIR}/node_page_test.cpp
  LINK agent ctl_plan_command extender_scheduling test_support
  LABEL unit)
pinion_test(ctl_plan_job_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/plan_job_test.cpp ${CMAKE_CURRENT_LIST_DIR}/plan_job_picture_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/jobs_test.cpp
  LINK ctl_job ctl_golden
  LABEL unit)

# A server and its caller.
pinion_test(ctl_ask_http_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/ask_http_test.cpp
  LINK ctl_job ctl_compare
  LABEL threads)
pinion_test(ctl_plan_live_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/plan_live_test.cpp ${CMAKE_CURRENT_LIST_DIR}/../api/certificates.cpp
  LINK ctl_job extender_admission extender_service test_support
  LABEL threads)

pinion_test(ctl_vc_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/vc_test.cpp
  LINK ctl_vc test_support
  LABEL unit)
