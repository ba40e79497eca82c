# C that symgrad prints when a project is built. Written for CMake 3.20 and later.
#
#   execute_process(COMMAND symgrad cmake-dir OUTPUT_VARIABLE symgrad_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
#   find_package(symgrad CONFIG REQUIRED)
#   symgrad_add_library(kinematics TARGETS arm.py:reach arm.py:turn)
#   target_link_libraries(robot PRIVATE kinematics)

cmake_minimum_required(VERSION 3.20)

find_program(SYMGRAD_EXECUTABLE symgrad DOC "The command symgrad")
if(NOT SYMGRAD_EXECUTABLE)
  set(symgrad_FOUND FALSE)
  set(symgrad_NOT_FOUND_MESSAGE
      "The command symgrad is not on the PATH. Activate the environment it is in, or set SYMGRAD_EXECUTABLE.")
  return()
endif()

# symgrad_add_library(<name> [STATIC|SHARED|OBJECT] TARGETS <TARGET>... [OPTIONS <option>...] [NO_CHECK])
#
# A library of all functions that the TARGETs declare, in <name>.c and <name>.h; what OPTIONS say of --prefix stands
# before these names. They are printed when the library is built, again when a file changes that the declarations were
# made from, and checked with the C compiler of the project (NO_CHECK leaves that out, and so does a compiler for another
# machine, or Visual C++, which the check cannot call). TARGETs are found from the folder of the CMakeLists.txt; OPTIONS
# are those of `symgrad generate`, as in OPTIONS --save minimal.
function(symgrad_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC;SHARED;OBJECT;NO_CHECK" "" "TARGETS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "symgrad_add_library(${name}): what is ${arg_UNPARSED_ARGUMENTS}? "
                        "Write it behind TARGETS or OPTIONS.")
  endif()
  if(NOT arg_TARGETS)
    message(FATAL_ERROR "symgrad_add_library(${name}): TARGETS is missing. It names what is printed, as in "
                        "TARGETS arm.py:reach.")
  endif()
  set(kind "")
  foreach(one STATIC SHARED OBJECT)
    if(arg_${one})
      set(kind ${one})
    endif()
  endforeach()
  if(arg_NO_CHECK OR CMAKE_CROSSCOMPILING OR MSVC)
    list(APPEND arg_OPTIONS --no-check)
  endif()

  set(prefix "")
  if("${arg_OPTIONS}" MATCHES "(^|;)--prefix[=;]([^;]*)")
    set(prefix "${CMAKE_MATCH_2}")
  endif()

  set(out "${CMAKE_CURRENT_BINARY_DIR}/symgrad/${name}")
  set(files "${out}/${prefix}${name}.c" "${out}/${prefix}${name}.h")
  set(declared "")
  foreach(target IN LISTS arg_TARGETS)
    string(REGEX REPLACE ":[A-Za-z_0-9]+$" "" file "${target}")
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
      list(APPEND declared "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    endif()
  endforeach()
  file(MAKE_DIRECTORY "${out}")
  add_custom_command(
    OUTPUT ${files}
    COMMAND "${CMAKE_COMMAND}" -E env "CC=\"${CMAKE_C_COMPILER}\""
            "${SYMGRAD_EXECUTABLE}" generate ${arg_TARGETS} --to c --file ${name} ${arg_OPTIONS}
            --out "${out}" --flat --depfile "${out}/${name}.d" --force --quiet
    COMMAND "${CMAKE_COMMAND}" -E touch_nocreate ${files}
    DEPENDS ${declared}
    DEPFILE "${out}/${name}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Printing ${prefix}${name}.c and ${prefix}${name}.h"
    VERBATIM
  )
  add_library(${name} ${kind} ${files})
  target_include_directories(${name} PUBLIC "${out}")
  if(NOT MSVC)
    target_link_libraries(${name} PUBLIC m)
  endif()
endfunction()
