# tests/support/precompiled.h, parsed once for all tests that are not optimised: a third of what clang needs for one of
# them. CMake's own precompiled headers name the checkout, and no second one would find in ccache what the first compiled:
# here the path is relative, and ccache looks at a checksum of what the header comes to. With one source to a batch, as
# in the preset dev, there is none, so that a file that forgets an include is seen there.
set(precompiled)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND PINION_BATCH GREATER 1)
  file(RELATIVE_PATH precompiled ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/precompiled.pch)
  set(header ${CMAKE_CURRENT_SOURCE_DIR}/support/precompiled.h)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  get_directory_property(options COMPILE_OPTIONS)
  list(APPEND flags ${options} -O0 -std=c++20 -pthread -DGTEST_HAS_PTHREAD=1)
  # Debian's headers are as old as their package: by time alone an upgrade is not seen.
  execute_process(COMMAND dpkg-query -W libgtest-dev libgmock-dev nlohmann-json3-dev libstdc++-12-dev libc6-dev
    OUTPUT_VARIABLE versions ERROR_QUIET)
  set(versions_file ${CMAKE_CURRENT_BINARY_DIR}/precompiled.versions)
  file(CONFIGURE OUTPUT ${versions_file} CONTENT "${versions}" @ONLY)
  add_custom_command(OUTPUT precompiled.pch precompiled.pch.sum DEPENDS ${header} ${versions_file} DEPFILE precompiled.d VERBATIM
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} -x c++-header ${header} -o precompiled.pch -fpch-instantiate-templates
      -Xclang -fno-pch-timestamp -MD -MF precompiled.d -MT precompiled.pch
    COMMAND sh -c "{ \"$@\" <\"$0\" && echo \"$*\"; } | sha256sum >precompiled.pch.sum" ${header}
      ${CMAKE_CXX_COMPILER} ${flags} -E -P -x c++ -
    COMMENT "Precompiling what tests include")
  add_custom_target(precompiled DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/precompiled.pch)
endif()

# pinion_precompiled(NAME): the sources of this program get it first.
function(pinion_precompiled name)
  if(precompiled)
    get_target_property(sources ${name} SOURCES)
    set_source_files_properties(${sources} PROPERTIES OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${precompiled})
    target_compile_options(${name} PRIVATE -pthread "SHELL:-include-pch ${precompiled}")
    add_dependencies(${name} precompiled)
  endif()
endfunction()
