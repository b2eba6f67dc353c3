# SPDX-License-Identifier: BSD-3-Clause
# One CMake target per room, so that a room can only use what it declares.
#
#   herald_room(NAME SOURCES a.cpp ... [USES base wire ...])
#       object library herald_NAME from the calling folder; part of libmpi_abi.so.1
#   herald_unit_test(NAME SOURCES a.cpp ... [USES room ...] [LIBS target ...])
#       GoogleTest program, registered with ctest under the label "unit"

set_property(GLOBAL PROPERTY HERALD_ROOMS "")

function(herald_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  if(ARG_SOURCES)
    add_library(herald_${name} OBJECT ${ARG_SOURCES})
    target_include_directories(herald_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(herald_${name} PRIVATE herald_flags herald_inner)
    set_property(GLOBAL APPEND PROPERTY HERALD_ROOMS herald_${name})
  else()
    add_library(herald_${name} INTERFACE)
    target_include_directories(herald_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
  endif()
  set_property(GLOBAL PROPERTY HERALD_USES_${name} "${ARG_USES}")
endfunction()

# All rooms that `names` need, themselves included.
function(herald_closure out)
  set(todo ${ARGN})
  set(done "")
  while(todo)
    list(POP_FRONT todo room)
    if(NOT room IN_LIST done)
      list(APPEND done ${room})
      get_property(uses GLOBAL PROPERTY HERALD_USES_${room})
      list(APPEND todo ${uses})
    endif()
  endwhile()
  set(${out} ${done} PARENT_SCOPE)
endfunction()

# Link the object files of some rooms, and of the rooms they use, into a program.
function(herald_link_rooms target)
  herald_closure(rooms ${ARGN})
  foreach(room ${rooms})
    target_link_libraries(${target} PRIVATE herald_${room})
    get_target_property(kind herald_${room} TYPE)
    if(kind STREQUAL "OBJECT_LIBRARY")
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:herald_${room}>)
    endif()
  endforeach()
endfunction()

function(herald_unit_test name)
  if(NOT HERALD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE herald_flags GTest::gtest_main ${ARG_LIBS})
  herald_link_rooms(test_${name} ${ARG_USES})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
