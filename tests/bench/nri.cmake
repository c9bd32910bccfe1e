find_package(CLI11 REQUIRED)

# What a plugin costs that does nothing: in C++ always, and on containerd's own Go library where
# there is a Go that can build it. `all` does not build the latter, it may fetch modules.
pinion_program(pinion-nri-floor SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_floor.cpp LINK nri_plugin)

pinion_program(pinion-nri-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/nri_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_player.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_process.cpp ${CMAKE_CURRENT_LIST_DIR}/nri_bench_report.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nri_bench_runtime.cpp
  LINK topology test_fake_runtime CLI11::CLI11)
add_dependencies(pinion-nri-bench pinion-agent pinion-nri-floor)

find_program(GO go)
set(go_version 0)
if(GO)
  execute_process(COMMAND ${GO} env GOVERSION OUTPUT_VARIABLE go_version ERROR_QUIET
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  string(REGEX MATCH "[0-9]+\\.[0-9]+" go_version "${go_version}")
endif()
if(go_version VERSION_GREATER_EQUAL 1.24)
  set(floor_go ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/pinion-nri-floor-go)
  add_custom_command(OUTPUT ${floor_go}
    COMMAND ${GO} build -mod=readonly -trimpath -buildvcs=false -o ${floor_go} .
    WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/floor
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/floor/main.go ${CMAKE_CURRENT_LIST_DIR}/floor/go.mod
      ${CMAKE_CURRENT_LIST_DIR}/floor/go.sum
    COMMENT "Building the floor plugin with ${GO}" VERBATIM)
  add_custom_target(pinion-nri-floor-go DEPENDS ${floor_go})
endif()

if(PINION_TESTS)
  add_test(NAME nri_bench.quick
    COMMAND pinion-nri-bench --quick --floor $<TARGET_FILE:pinion-nri-floor>)
  set_tests_properties(nri_bench.quick PROPERTIES LABELS integration RUN_SERIAL TRUE TIMEOUT 120)
endif()
