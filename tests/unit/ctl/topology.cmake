pinion_test(unit_ctl_topology
  SOURCES text_test.cpp draw_topology_test.cpp topology_command_test.cpp plan_commands_test.cpp
  LINK ctl_machine test_support)
if(TARGET unit_ctl_topology)
  add_dependencies(unit_ctl_topology pinionctl)
endif()
