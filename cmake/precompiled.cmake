# Headers that clang parses once for all sources that are not optimised: a third of what it needs for one of them. CMake's
# own precompiled headers name the checkout, and no second one would find in ccache what the first compiled: here paths
# are relative, and ccache looks at a checksum of what the header comes to. With one source to a batch, as in the preset
# dev, there are none, so that a file that forgets an include is seen there.

# pinion_precompiled_header(NAME HEADER flags...): the target precompiled_NAME makes precompiled/NAME.pch.
function(pinion_precompiled_header name header)
  set(path precompiled/${name}.pch)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  get_directory_property(options COMPILE_OPTIONS)
  list(APPEND flags ${options} -O0 -std=c++20 -pthread ${ARGN})
  # Debian's headers are as old as their package: by time alone an upgrade is not seen.
  execute_process(COMMAND dpkg-query -W libgtest-dev libgmock-dev nlohmann-json3-dev libstdc++-12-dev libc6-dev
    linux-libc-dev clang-14 libclang-common-14-dev
    OUTPUT_VARIABLE versions ERROR_QUIET)
  set(versions_file ${CMAKE_BINARY_DIR}/precompiled/versions)
  file(CONFIGURE OUTPUT ${versions_file} CONTENT "${versions}" @ONLY)
  add_custom_command(OUTPUT ${path} ${path}.sum DEPENDS ${header} ${versions_file} DEPFILE ${path}.d VERBATIM
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} -x c++-header ${header} -o ${path} -fpch-instantiate-templates
      -Xclang -fno-pch-timestamp -MD -MF ${path}.d -MT ${path}
    COMMAND sh -c "{ \"$@\" <\"$0\" && echo \"$*\"; } | sha256sum >${path}.sum" ${header}
      ${CMAKE_CXX_COMPILER} ${flags} -E -P -dD -x c++ -
    COMMENT "Precompiling ${name}")
  add_custom_target(precompiled_${name} DEPENDS ${CMAKE_BINARY_DIR}/${path})
endfunction()

set(precompiled FALSE)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_BUILD_TYPE STREQUAL Debug)
  set(precompiled TRUE)
  pinion_precompiled_header(product ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
  pinion_precompiled_header(tests ${CMAKE_SOURCE_DIR}/tests/support/precompiled.h -DGTEST_HAS_PTHREAD=1)
  if(PINION_FUZZ)
    pinion_precompiled_header(followed ${CMAKE_SOURCE_DIR}/cmake/precompiled.h -fsanitize=fuzzer-no-link)
  endif()
endif()

# pinion_precompiled(TARGET): its sources get one of them first.
function(pinion_precompiled target)
  if(NOT precompiled OR NOT PINION_BATCH GREATER 1)
    return()
  endif()
  set(name product)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/tests")
    set(name tests)
  endif()
  set(needed ${name})
  set(header ${name})
  if(PINION_FUZZ)
    list(APPEND needed followed)
    set(header $<IF:$<BOOL:$<TARGET_PROPERTY:PINION_FOLLOWED>>,followed,${name}>)  # pinion_followed
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(each IN LISTS needed)
    add_dependencies(${target} precompiled_${each})
    set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/precompiled/${each}.pch)
  endforeach()
  target_compile_options(${target} PRIVATE -pthread "SHELL:-include-pch precompiled/${header}.pch")
endfunction()
