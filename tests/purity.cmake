# Fails when a library that is said to be pure calls the system, the clock, threads or a foreign
# library: looks at the undefined symbols of what it was compiled to.
# Usage: cmake -DNM=nm -DLIBRARY=libX.a -P purity.cmake
execute_process(COMMAND ${NM} --undefined-only --demangle ${LIBRARY}
  OUTPUT_VARIABLE symbols RESULT_VARIABLE result ERROR_QUIET)
if(NOT result EQUAL 0 OR NOT symbols MATCHES " U ")
  message(FATAL_ERROR "${NM} read no symbols of ${LIBRARY}")
endif()

set(system_calls open openat read write pread pwrite close ioctl socket connect accept send sendmsg
  recv recvmsg poll epoll_wait fopen fread fwrite printf fprintf puts opendir readdir stat fstat unlink
  mkdir rename fork execve kill clock_gettime gettimeofday time nanosleep usleep sleep getenv setenv
  pthread_create pthread_mutex_lock syscall mmap)
list(JOIN system_calls "|" system_calls)
set(foreign "std::basic_[a-z]*fstream|std::ios_base::Init|std::filesystem|std::chrono::_V2|std::thread|std::random_device|hwloc_|numa_|google::protobuf|spdlog::|fmt::|grpc|YAML::|nlohmann|cgroup_init")

string(REPLACE "\n" ";" lines "${symbols}")
set(found)
foreach(line IN LISTS lines)
  if(line MATCHES " U ((${system_calls})(64)?(@.*)?)$" OR line MATCHES " U .*(${foreign})")
    string(REGEX REPLACE "^ *U " "" symbol "${line}")
    list(APPEND found "${symbol}")
  endif()
endforeach()
if(found)
  list(REMOVE_DUPLICATES found)
  list(JOIN found "\n  " found)
  message(FATAL_ERROR "${LIBRARY} is not pure, it uses:\n  ${found}")
endif()
