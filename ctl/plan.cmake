find_package(yaml-cpp REQUIRED)

# Apart from the command, so that it can be fuzzed without hwloc.
pinion_library(ctl_requests
  SOURCES requests_file.cpp yaml_entry.cpp
  LINK topology quantity yaml-cpp)

# The pictures alone: no connection.
pinion_library(ctl_plan
  SOURCES draw_plan.cpp plan_json.cpp plan_live.cpp
  LINK ctl_requests ctl_text ctl node_proto)

# Kubernetes objects as people write them.
pinion_library(ctl_job_file
  SOURCES job_file.cpp
  LINK ctl_requests nlohmann_json::nlohmann_json)

# A fleet as people write it.
pinion_library(ctl_fleet_file
  SOURCES fleet_file.cpp
  LINK ctl_requests cluster_core discover)

# What the cluster side would make of a job.
pinion_library(ctl_plan_job
  SOURCES plan_job_command.cpp draw_job_plan.cpp draw_job_picture.cpp extender_client.cpp
  LINK extender_jobs ctl_fleet_file ctl_job_file ctl_text ctl PkgConfig::CPPHTTPLIB)
