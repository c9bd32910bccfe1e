pinion_fuzz(kube_watch SOURCES ${CMAKE_CURRENT_LIST_DIR}/kube_watch.cpp LINK extender_kube)
pinion_fuzz(kube_config SOURCES ${CMAKE_CURRENT_LIST_DIR}/kube_config.cpp LINK extender_kube)
