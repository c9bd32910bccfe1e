pinion_fuzz(kube_watch SOURCES ${CMAKE_CURRENT_LIST_DIR}/kube_watch.cpp LINK extender_kube)
pinion_fuzz(kube_config SOURCES ${CMAKE_CURRENT_LIST_DIR}/kube_config.cpp LINK extender_kube)
pinion_fuzz(kube_objects SOURCES ${CMAKE_CURRENT_LIST_DIR}/kube_objects.cpp LINK extender_kube extender_pods)
pinion_fuzz(kube_http SOURCES ${CMAKE_CURRENT_LIST_DIR}/kube_http.cpp LINK extender_kube)
pinion_fuzz(ccs_answer SOURCES ${CMAKE_CURRENT_LIST_DIR}/ccs_answer.cpp LINK extender_ccs)
find_package(nlohmann_json REQUIRED)

foreach(body filter bind preempt)
  pinion_fuzz(extender_${body} SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_${body}.cpp
    LINK extender_wire nlohmann_json::nlohmann_json)
endforeach()
pinion_fuzz(extender_pod SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_pod.cpp
  LINK extender_scheduling extender_pods nlohmann_json::nlohmann_json test_support)
pinion_fuzz(extender_agent SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_agent.cpp LINK extender_node_report)
pinion_fuzz(extender_review SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_review.cpp LINK extender_admission test_support)
pinion_fuzz(extender_plan SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_plan.cpp LINK extender_admission test_support)
pinion_fuzz(extender_profiles SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_profiles.cpp LINK extender_profiles)
pinion_fuzz(extender_settings SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_settings.cpp LINK extender_settings)
foreach(input service prometheus)
  pinion_fuzz(extender_${input} SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_${input}.cpp
    LINK extender_targets nlohmann_json::nlohmann_json)
endforeach()
pinion_fuzz(extender_elastic SOURCES ${CMAKE_CURRENT_LIST_DIR}/extender_elastic.cpp
  LINK extender_elastic nlohmann_json::nlohmann_json)
