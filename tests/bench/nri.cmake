find_package(CLI11 REQUIRED)

# What a plugin costs that does nothing: in C++ always, and on containerd's own Go library where
# there is a Go that can build it.
pinion_program(pinion-nri-floor SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_floor.cpp LINK nri_plugin)

pinion_program(pinion-nri-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_player.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_process.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_report.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_runtime.cpp
  LINK topology test_fake_runtime CLI11::CLI11)
add_dependencies(pinion-nri-bench pinion-agent pinion-nri-floor)

pinion_bench_go(pinion-nri-floor-go floor)

if(PINION_TESTS)
  add_test(NAME nri_bench.quick
    COMMAND pinion-nri-bench --quick --floor $<TARGET_FILE:pinion-nri-floor>)
  set_tests_properties(nri_bench.quick PROPERTIES LABELS integration RESOURCE_LOCK node TIMEOUT 120)
endif()
