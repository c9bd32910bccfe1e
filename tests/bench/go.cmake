# Programs in Go that are measured beside ours, where there is a Go that can build them. `all` does not build them,
# they may fetch modules.
find_program(GO go)
set(go_version 0)
if(GO)
  execute_process(COMMAND ${GO} env GOVERSION OUTPUT_VARIABLE go_version ERROR_QUIET
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  string(REGEX MATCH "[0-9]+\\.[0-9]+" go_version "${go_version}")
endif()

# pinion_bench_go(NAME FOLDER): the module in that folder, with a main.go.
function(pinion_bench_go name folder)
  if(go_version VERSION_LESS 1.24)
    return()
  endif()
  set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  set(module ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  add_custom_command(OUTPUT ${program}
    COMMAND ${GO} build -mod=readonly -trimpath -buildvcs=false -o ${program} .
    WORKING_DIRECTORY ${module}
    DEPENDS ${module}/main.go ${module}/go.mod ${module}/go.sum
    COMMENT "Building ${name} with ${GO}" VERBATIM)
  add_custom_target(${name} DEPENDS ${program})
endfunction()
