# Lists the cases of a program that one boot of the guest runs: FOLDER/known for boot.sh, and FOLDER/cases.cmake,
# the ctest entries that look up how each ended.
# Usage: cmake -DPROGRAM=file -DFILTER=pattern -DBOOT=entry -DTHIRD=label -DFOLDER=folder -P list_cases.cmake
execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${FILTER}
  OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)

set(known)
set(entries)
string(REPLACE "\n" ";" lines "${listed}")
foreach(line IN LISTS lines)
  string(REGEX REPLACE " *#.*" "" line "${line}")  # a parameter's value
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
  elseif(line MATCHES "^  ([^ ]+)$")
    set(case ${suite}.${CMAKE_MATCH_1})
    string(APPEND known "${case}\n")
    string(APPEND entries "add_test(${BOOT}.${case} ${CMAKE_CURRENT_LIST_DIR}/case.sh ${FOLDER} ${case})
set_tests_properties(${BOOT}.${case} PROPERTIES LABELS \"guest;${THIRD}\" FIXTURES_REQUIRED ${BOOT} SKIP_RETURN_CODE 77)
")
  endif()
endforeach()
if(NOT known)
  message(FATAL_ERROR "no case of ${PROGRAM} matches ${FILTER}")
endif()
file(WRITE ${FOLDER}/known "${known}")
file(WRITE ${FOLDER}/cases.cmake "${entries}")
