pinion_fuzz(agent_config SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_config.cpp LINK agent)
pinion_fuzz(agent_cgroup_paths SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_cgroup_paths.cpp LINK cgroup)
pinion_fuzz(agent_wish SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_wish.cpp LINK engine)
