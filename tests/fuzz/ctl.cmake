pinion_fuzz(ctl_requests SOURCES ${CMAKE_CURRENT_LIST_DIR}/ctl_requests.cpp LINK ctl_requests)
pinion_fuzz(ctl_fleet SOURCES ${CMAKE_CURRENT_LIST_DIR}/ctl_fleet.cpp LINK fleet_file)
pinion_fuzz(ctl_recording SOURCES ${CMAKE_CURRENT_LIST_DIR}/ctl_recording.cpp LINK ctl_source)
pinion_fuzz(ctl_range_answer SOURCES ${CMAKE_CURRENT_LIST_DIR}/ctl_range_answer.cpp LINK ctl_compare)
