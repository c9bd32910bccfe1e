find_package(CLI11 REQUIRED)

# What a plugin costs that does nothing. The same on containerd's own Go library is in floor/.
pinion_program(pinion-nri-floor SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_floor.cpp LINK nri_plugin)

pinion_program(pinion-nri-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_player.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_process.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_report.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_runtime.cpp
  LINK topology test_fake_runtime bench_measurements CLI11::CLI11)
add_dependencies(pinion-nri-bench pinion-agent pinion-nri-floor)

pinion_program(pinion-listeners-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/chart_agent.cpp ${CMAKE_CURRENT_LIST_DIR}/crowd.cpp ${CMAKE_CURRENT_LIST_DIR}/listeners_bench.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_player.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_process.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_report.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_runtime.cpp
    ${CMAKE_SOURCE_DIR}/tests/unit/api/certificates.cpp
  LINK topology net agent_client test_fake_runtime test_support bench_measurements CLI11::CLI11)
add_dependencies(pinion-listeners-bench pinion-agent)

pinion_program(pinion-inner-groups-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/inner_groups_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_process.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_report.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_runtime.cpp
  LINK topology cgroup test_fake_runtime test_support bench_measurements CLI11::CLI11)
add_dependencies(pinion-inner-groups-bench pinion-agent)

pinion_program(pinion-memory-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/chart_agent.cpp ${CMAKE_CURRENT_LIST_DIR}/memory_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_player.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_process.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_runtime.cpp
    ${CMAKE_SOURCE_DIR}/tests/unit/api/certificates.cpp
  LINK topology agent_client test_fake_runtime test_support CLI11::CLI11 PkgConfig::HTTPLIB Threads::Threads)
add_dependencies(pinion-memory-bench pinion-agent)

if(PINION_TESTS)
  add_test(NAME memory_bench.quick
    COMMAND pinion-memory-bench --agent $<TARGET_FILE:pinion-agent> --standing 20 --scrapes 2)
  set_tests_properties(memory_bench.quick PROPERTIES LABELS integration RESOURCE_LOCK node TIMEOUT 60)
  add_test(NAME listeners_bench.quick COMMAND pinion-listeners-bench --connections 600 --standing 20 --lives 24)
  set_tests_properties(listeners_bench.quick PROPERTIES LABELS integration RESOURCE_LOCK node TIMEOUT 120)
  add_test(NAME nri_bench.quick
    COMMAND pinion-nri-bench --quick --floor $<TARGET_FILE:pinion-nri-floor>)
  set_tests_properties(nri_bench.quick PROPERTIES LABELS integration RESOURCE_LOCK node TIMEOUT 120)
endif()
