pinion_fuzz(topology_cpuset
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/topology_cpuset.cpp
  LINK topology)
