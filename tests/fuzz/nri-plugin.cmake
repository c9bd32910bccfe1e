pinion_fuzz(nri_codec SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_codec.cpp LINK nri_codec proto)
pinion_fuzz(nri_session SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_session.cpp LINK agent_nri test_fake_runtime)
pinion_fuzz(nri_translate SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_translate.cpp LINK agent_nri)
