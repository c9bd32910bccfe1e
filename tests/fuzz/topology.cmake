pinion_fuzz(topology_cpuset
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/topology_cpuset.cpp
  LINK topology)

pinion_fuzz(ctl_requests
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/ctl_requests.cpp
  LINK ctl_requests)
