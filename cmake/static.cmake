# For packages: what Debian has as an archive becomes part of the programs. OpenSSL, zlib, libcurl and libsystemd stay
# shared: the first two so that Debian's security updates reach an installed program, the others because there is no archive
# of them, or none whose own libraries are archives. The C library stays shared as well, for it looks up names of hosts by
# plugins.

# pinion_archives(VARIABLE MODULE [LEAVE names...]): all that pkg-config's MODULE links, in its order; archives where there
# are any, but for those of the C library and of LEAVE.
function(pinion_archives variable module)
  cmake_parse_arguments(arg "" "" "LEAVE" ${ARGN})
  pkg_check_modules(PC_${module} REQUIRED ${module})
  set(libraries)
  set(names ${PC_${module}_STATIC_LIBRARIES})
  list(REMOVE_DUPLICATES names)
  foreach(name IN LISTS names)
    if(name IN_LIST arg_LEAVE OR name MATCHES "^(c|dl|m|pthread|rt)$")
      list(APPEND libraries ${name})
      continue()
    endif()
    find_library(ARCHIVE_${name} NAMES lib${name}.a)
    mark_as_advanced(ARCHIVE_${name})
    if(ARCHIVE_${name})
      list(APPEND libraries ${ARCHIVE_${name}})
    else()
      list(APPEND libraries ${name})
    endif()
  endforeach()
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()
