pinion_fuzz(sim_swf SOURCES ${CMAKE_CURRENT_LIST_DIR}/sim_swf.cpp LINK sim_core)
pinion_fuzz(sim_jobs SOURCES ${CMAKE_CURRENT_LIST_DIR}/sim_jobs.cpp LINK sim_files)
pinion_fuzz(sim_model SOURCES ${CMAKE_CURRENT_LIST_DIR}/sim_model.cpp LINK sim_files)
