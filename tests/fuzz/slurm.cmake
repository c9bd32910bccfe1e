foreach(input jobs nodes pod)
  pinion_fuzz(slurm_${input} SOURCES ${CMAKE_CURRENT_LIST_DIR}/slurm_${input}.cpp LINK slurm_json)
endforeach()
