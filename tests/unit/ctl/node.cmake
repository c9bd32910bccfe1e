pinion_test(unit_ctl_comparison
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/comparison_test.cpp ${CMAKE_CURRENT_LIST_DIR}/table_test.cpp
  LINK comparison
  LABEL unit)

if(PINION_TESTS)
  pinion_library(ctl_sample
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/sample.cpp
    LINK agent_convert node_proto test_support)
endif()

pinion_test(unit_ctl_node
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/top_view_test.cpp ${CMAKE_CURRENT_LIST_DIR}/node_text_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/recording_test.cpp ${CMAKE_CURRENT_LIST_DIR}/interval_figures_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/times_test.cpp ${CMAKE_CURRENT_LIST_DIR}/prometheus_test.cpp
  LINK ctl_compare ctl_node_text ctl_top ctl_golden ctl_sample PkgConfig::HTTPLIB
  LABEL unit)

# The program itself beside a server, one after another: with the integration tests.
if(PINION_LAB AND PINION_TESTS)
  pinion_test(unit_ctl_node_commands
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/node_commands_test.cpp
    LINK ctl_source ctl_sample util
    LABEL integration)
  add_dependencies(unit_ctl_node_commands pinionctl)
endif()
