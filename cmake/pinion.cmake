# The few rules that every target of Pinion follows.

unset(CMAKE_UNITY_BUILD CACHE)  # of older build folders; see pinion_batches

add_library(pinion_flags INTERFACE)
target_include_directories(pinion_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(pinion_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives on std::string's operator+ when optimising (GCC bug 105651).
  target_compile_options(pinion_flags INTERFACE -Wno-restrict)
endif()
if(PINION_WERROR)
  target_compile_options(pinion_flags INTERFACE -Werror)
endif()
if(PINION_SANITIZE)
  add_compile_options(-fsanitize=${PINION_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PINION_SANITIZE})
  if(PINION_SANITIZE MATCHES undefined)
    # Not null and vptr, a fifth of the compiler's time: at a null or dangling object AddressSanitizer stops as well. Nor
    # alignment, a tenth of the rest: -Wcast-align warns of casts that need more of it. Nor object-size, which sees what is
    # optimised alone, and there takes a twentieth: AddressSanitizer knows where each object ends.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=null,vptr,alignment,object-size -Wcast-align)
  endif()
endif()

# pinion_static_c(NAME file): a program in C without any library, for the inside of containers.
function(pinion_static_c name file)
  add_executable(${name} ${file})
  target_compile_options(${name} PRIVATE -fno-sanitize=all)
  target_link_options(${name} PRIVATE -static -fno-sanitize=all)
  set_target_properties(${name} PROPERTIES C_STANDARD 11)
endfunction()

set(PINION_BATCH 12 CACHE STRING "How many sources of a target are compiled as one; 1: each by itself")

# pinion_batches(VARIABLE NAME files...): what to compile for the sources of the target NAME, so many to a batch, which
# includes them by their paths in the checkout: CMake's own unity builds write whole paths, and no second checkout would
# find in ccache what the first compiled.
function(pinion_batches variable name)
  set(sources)
  set(together)
  foreach(file IN LISTS ARGN)
    if(PINION_BATCH EQUAL 1 OR NOT file MATCHES "[.]cpp$")  # a generated header
      list(APPEND sources ${file})
    else()
      get_filename_component(file ${file} ABSOLUTE)
      file(RELATIVE_PATH file ${CMAKE_SOURCE_DIR} ${file})
      list(APPEND together ${file})
    endif()
  endforeach()
  list(LENGTH together count)
  if(count GREATER 0)
    math(EXPR last "${count} - 1")
    foreach(first RANGE 0 ${last} ${PINION_BATCH})
      list(SUBLIST together ${first} ${PINION_BATCH} files)
      list(JOIN files "\"\n#include \"" content)
      set(batch ${CMAKE_CURRENT_BINARY_DIR}/batches/${name}_${first}.cpp)
      file(CONFIGURE OUTPUT ${batch} CONTENT "#include \"${content}\"\n" @ONLY)
      list(APPEND sources ${batch})
    endforeach()
  endif()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# Everything that is not a test.
add_custom_target(product)
function(pinion_part_of_product name)
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/tests")
    add_dependencies(product ${name})
  endif()
endfunction()

# pinion_library(NAME SOURCES files... [LINK targets...] [HOT]). HOT: property tests spend their time in it, so it is
# optimised a little for sanitizers, too.
function(pinion_library name)
  cmake_parse_arguments(arg "HOT" "" "SOURCES;LINK" ${ARGN})
  pinion_batches(sources ${name} ${arg_SOURCES})
  add_library(${name} STATIC ${sources})
  pinion_part_of_product(${name})
  if(NOT arg_HOT)
    pinion_precompiled(${name})
  elseif(PINION_SANITIZE)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  target_link_libraries(${name} PUBLIC pinion_flags ${arg_LINK})
endfunction()

# A library that decides and does no I/O: it may link only other pure libraries, and the test
# purity.NAME looks for symbols of I/O, clocks, threads and foreign libraries in what it compiled to.
function(pinion_pure_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  foreach(dependency IN LISTS arg_LINK)
    get_target_property(pure ${dependency} PINION_PURE)
    if(NOT pure)
      message(FATAL_ERROR "${name} is pure and may not link ${dependency}, which is not")
    endif()
  endforeach()
  pinion_library(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES PINION_PURE TRUE)
  set_property(GLOBAL APPEND PROPERTY PINION_PURE_TARGETS ${name})
endfunction()

# pinion_program(NAME SOURCES files... [LINK targets...])
function(pinion_program name)
  cmake_parse_arguments(arg "UNIT_TEST;HOT" "" "SOURCES;LINK" ${ARGN})
  pinion_batches(sources ${name} ${arg_SOURCES})
  add_executable(${name} ${sources})
  if(NOT arg_HOT)
    pinion_precompiled(${name})
  endif()
  pinion_part_of_product(${name})
  target_link_libraries(${name} PRIVATE pinion_flags ${arg_LINK})
  if(NOT arg_UNIT_TEST)
    add_dependencies(release_programs ${name})
  endif()
endfunction()

# All programs but the unit tests: what scripts/test.sh builds without sanitizers.
add_custom_target(release_programs)

# pinion_cold(targets...): their code runs seldom, as that of a command line, but takes long to compile when optimised.
function(pinion_cold)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

# What every test of ours runs with.
function(pinion_test_environment variable)
  if(PINION_SANITIZE MATCHES thread)
    set(environment ENVIRONMENT_MODIFICATION
      "TSAN_OPTIONS=string_append: suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp")
  elseif(PINION_SANITIZE)
    # hwloc's plugins for GPUs, there when an MPI is installed, leak: a folder without any.
    set(environment ENVIRONMENT "HWLOC_PLUGINS_PATH=${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  set(${variable} ${environment} PARENT_SCOPE)
endfunction()

# pinion_label_not_built(PROGRAM FILE properties...): the entry PROGRAM_NOT_BUILT, which there is as long as FILE is not,
# has the label that the cases would have: who asks for that label sees it fail.
function(pinion_label_not_built program file)
  cmake_parse_arguments(arg "" "LABELS" "" ${ARGN})
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${program}_not_built.cmake)
  file(WRITE ${include} "if(NOT EXISTS \"${file}\")\n"
    "  set_tests_properties(${program}_NOT_BUILT PROPERTIES LABELS ${arg_LABELS})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# pinion_discover_suites(PROGRAM PROPERTIES properties...): one ctest entry for each suite, PROGRAM.Suite. For programs of
# many short cases: starting one with sanitizers costs more than most of them. None of them may be skipped.
function(pinion_discover_suites program)
  target_link_libraries(${program} PRIVATE whole_run)
  cmake_parse_arguments(arg "" "" "PROPERTIES" ${ARGN})
  pinion_test_environment(environment)
  set(base ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites)
  set(properties ${environment} FAIL_REGULAR_EXPRESSION "Running 0 tests from 0 test suites|\\[  SKIPPED \\]|YOU HAVE [0-9]+ DISABLED"
    ${arg_PROPERTIES})
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${base}.cmake VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DNAME=${program} -DFILE=${base}.cmake
      "-DPROPERTIES=${properties}" -P ${CMAKE_SOURCE_DIR}/cmake/list_suites.cmake)
  file(WRITE ${base}_include.cmake "if(EXISTS \"${base}.cmake\")\n  include(\"${base}.cmake\")\n"
    "else()\n  add_test(${program}_NOT_BUILT ${program}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${base}_include.cmake)
  pinion_label_not_built(${program} ${base}.cmake ${arg_PROPERTIES})
endfunction()

# pinion_discover_tests(PROGRAM [FILTER TEST_FILTER words] PROPERTIES properties...): one ctest entry for each case,
# PROGRAM.Suite.Case, skipped where GoogleTest's output has a skipped one. A program that knows no such case any more fails;
# one that lists none cannot be built.
function(pinion_discover_tests program)
  target_link_libraries(${program} PRIVATE whole_run)
  cmake_parse_arguments(arg "" "" "FILTER;PROPERTIES" ${ARGN})
  pinion_test_environment(environment)
  gtest_discover_tests(${program} TEST_PREFIX ${program}. DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES ${arg_FILTER}
    PROPERTIES ${environment}
      FAIL_REGULAR_EXPRESSION "Running 0 tests from 0 test suites" ${arg_PROPERTIES})
  set(listed "${CMAKE_CURRENT_BINARY_DIR}/${program}[1]_tests.cmake")
  add_custom_command(TARGET ${program} POST_BUILD VERBATIM
    COMMAND sh -c "grep -q '^add_test(' \"$1\" || { echo \"$2 lists no tests\"; exit 1; }" sh "${listed}" ${program})
  pinion_label_not_built(${program} "${listed}" ${arg_PROPERTIES})
endfunction()

# A GoogleTest program: one ctest entry per test case, named PROGRAM.Suite.Case, with SUITES one per suite. LABEL: one,
# as of several ctest would see the first alone; without it the folder of tests/. "threads" says that several threads run
# in it: the target threaded_tests builds those. ONE_AT_A_TIME: its cases fill the machine with threads, and none runs
# beside another of them. LONG: its own code is worth optimising, and it runs before others. TSAN_FILTER: which cases
# ThreadSanitizer sees.
function(pinion_test name)
  if(NOT PINION_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "ONE_AT_A_TIME;LONG;SUITES" "LABEL;TSAN_FILTER" "SOURCES;LINK" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pinion_test(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_LABEL)
    string(REGEX REPLACE "^${CMAKE_SOURCE_DIR}/tests/([a-z]+).*" "\\1" arg_LABEL ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(schedule)
  if(arg_ONE_AT_A_TIME)
    set(schedule RESOURCE_LOCK ${name})
  elseif(arg_LONG)
    set(schedule COST 100)
  endif()
  set(unit_test UNIT_TEST)
  if(arg_LABEL MATCHES "^(integration|experiments)$")
    set(unit_test)
  endif()
  set(hot)
  if(arg_LONG)
    set(hot HOT)
  endif()
  pinion_program(${name} ${unit_test} ${hot}
    SOURCES ${arg_SOURCES} LINK ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE $<IF:$<BOOL:${arg_LONG}>,-O1,-O0>)
  if(arg_LABEL STREQUAL "threads")
    if(NOT TARGET threaded_tests)
      add_custom_target(threaded_tests)
    endif()
    add_dependencies(threaded_tests ${name})
  endif()
  if(arg_SUITES)
    pinion_discover_suites(${name} PROPERTIES LABELS ${arg_LABEL} ${schedule})
  else()
    set(filter)
    if(arg_TSAN_FILTER AND PINION_SANITIZE MATCHES thread)
      set(filter FILTER TEST_FILTER ${arg_TSAN_FILTER})
    endif()
    pinion_discover_tests(${name} ${filter} PROPERTIES LABELS ${arg_LABEL} ${schedule})
  endif()
endfunction()

# pinion_followed(targets...): libFuzzer follows these and what they link of ours. No others: it makes a file take a third
# more time to compile.
function(pinion_followed)
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(type ${target} TYPE)
    get_target_property(imported ${target} IMPORTED)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(imported OR type STREQUAL INTERFACE_LIBRARY OR "-fsanitize=fuzzer-no-link" IN_LIST options)
      continue()
    endif()
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    set_target_properties(${target} PROPERTIES PINION_FOLLOWED TRUE)
    get_target_property(links ${target} LINK_LIBRARIES)
    pinion_followed(${links})
  endforeach()
endfunction()

# pinion_fuzz(AREA TARGETS names... LINK targets...): one program fuzz_AREA for the fuzz targets of these names, each in
# NAME.cpp (tests/fuzz/target.h), and for each a link NAME_fuzz to start it by. With PINION_FUZZ it is libFuzzer's, else
# one that only reads files; either way a test of each target replays tests/fuzz/corpus/NAME.
function(pinion_fuzz area)
  if(NOT PINION_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "TARGETS;LINK" ${ARGN})
  set(program fuzz_${area})
  list(TRANSFORM arg_TARGETS APPEND .cpp OUTPUT_VARIABLE sources)
  set(main replay_main.cpp)
  set(options)
  if(PINION_FUZZ)
    set(main libfuzzer_main.cpp)
    set(options -runs=0)
  endif()
  pinion_program(${program} UNIT_TEST SOURCES ${sources} target.cpp ${main} LINK ${arg_LINK})
  if(PINION_FUZZ)
    pinion_followed(${program})
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  endif()
  set(links)
  foreach(name IN LISTS arg_TARGETS)
    set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    file(GLOB inputs ${corpus}/*)
    if(NOT inputs)
      message(FATAL_ERROR "the fuzz target ${name} has no inputs in ${corpus}")
    endif()
    set(link $<TARGET_FILE_DIR:${program}>/${name}_fuzz)
    list(APPEND links COMMAND ${CMAKE_COMMAND} -E create_symlink ${program} ${link})
    add_test(NAME ${program}.${name} COMMAND ${link} ${options} ${corpus})
    set_tests_properties(${program}.${name} PROPERTIES LABELS fuzz)
  endforeach()
  add_custom_command(TARGET ${program} POST_BUILD VERBATIM ${links})
endfunction()

# pinion_generated(NAME): protoc's sources, known only to CMake, are compiled as one.
function(pinion_generated name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  target_compile_options(${name} PRIVATE -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)  # see pinion_batches
endfunction()

# pinion_grpc_library(NAME PROTO): messages and services of one .proto file, generated apart from our
# own warnings. Debian's gRPC comes without a CMake package, and its headers need abseil's synchronization.
function(pinion_grpc_library name proto)
  find_package(Protobuf REQUIRED)
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  foreach(part grpc++ grpc gpr absl_synchronization)
    find_library(LIB_${part} ${part} REQUIRED)
  endforeach()
  add_library(${name} STATIC ${proto})
  if(PINION_STATIC)
    pinion_archives(grpc grpc++ LEAVE ssl crypto z)
  else()
    set(grpc ${LIB_grpc++} ${LIB_grpc} ${LIB_gpr} ${LIB_absl_synchronization})
  endif()
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf ${grpc} Threads::Threads)
  target_include_directories(${name} SYSTEM PUBLIC ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  pinion_generated(${name})
  protobuf_generate(TARGET ${name} LANGUAGE cpp)
  protobuf_generate(TARGET ${name} LANGUAGE grpc GENERATE_EXTENSIONS .grpc.pb.h .grpc.pb.cc
    PLUGIN "protoc-gen-grpc=${GRPC_CPP_PLUGIN}")
endfunction()

# pinion_python_tests(NAME FILE LABEL): an entry "NAME.SUITE.CASE" for each case of a file of Python's unittest. One that
# skips counts as skipped.
function(pinion_python_tests name file label)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^class |^    def test_")
  if(NOT lines)
    message(FATAL_ERROR "no cases in ${file}")
  endif()
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z]+)")
      set(suite ${CMAKE_MATCH_1})
    elseif(line MATCHES "def (test_[a-z0-9_]+)")
      set(entry ${name}.${suite}.${CMAKE_MATCH_1})
      add_test(NAME ${entry}
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${suite}.${CMAKE_MATCH_1})
      set_tests_properties(${entry} PROPERTIES LABELS ${label} SKIP_REGULAR_EXPRESSION "\nOK \\(skipped=")
    endif()
  endforeach()
endfunction()
