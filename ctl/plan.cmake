find_package(yaml-cpp REQUIRED)

# Apart from the command, so that it can be fuzzed without hwloc.
pinion_library(ctl_requests
  SOURCES requests_file.cpp quantity.cpp
  LINK topology yaml-cpp)

# The pictures alone: no connection.
pinion_library(ctl_plan
  SOURCES draw_plan.cpp plan_json.cpp plan_live.cpp
  LINK ctl_requests ctl_text ctl node_proto)
