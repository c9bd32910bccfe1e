find_package(yaml-cpp REQUIRED)

# Apart from the command, so that it can be fuzzed without hwloc.
pinion_library(ctl_requests
  SOURCES requests_file.cpp quantity.cpp
  LINK topology yaml-cpp)

pinion_library(ctl_plan
  SOURCES draw_plan.cpp plan_json.cpp plan_command.cpp
  LINK ctl_requests ctl)
