# cmake -DPROGRAM=path -DNAME=name -DFILE=path [-DPROPERTIES=list] -P list_suites.cmake: writes for ctest an entry NAME.SUITE for
# each suite of a GoogleTest program. See pinion_discover_suites().
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
# A bracket in a parameter's text would keep what follows together.
string(REGEX REPLACE "[][;]" "_" lines "${lines}")
string(REPLACE "\n" ";" lines "${lines}")
set(entries)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^ ]+)[.]( *#.*)?$")
    continue()
  endif()
  set(entry "[=[${NAME}.${CMAKE_MATCH_1}]=]")
  string(APPEND entries "add_test(${entry} [=[${PROGRAM}]=] [=[--gtest_filter=${CMAKE_MATCH_1}.*]=])\n"
    "set_tests_properties(${entry} PROPERTIES\n")
  foreach(word IN LISTS PROPERTIES)
    string(APPEND entries "  [=[${word}]=]\n")
  endforeach()
  string(APPEND entries ")\n")
endforeach()
if(NOT entries)
  message(FATAL_ERROR "${PROGRAM} lists no tests")
endif()
file(WRITE ${FILE} "${entries}")
