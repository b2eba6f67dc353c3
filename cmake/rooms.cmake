# SPDX-License-Identifier: BSD-3-Clause
# One CMake target per room, so that a room uses only the rooms that it declares.
#
#   herald_room(NAME SOURCES a.cpp ... [USES base wire ...])
#       object library herald_NAME from the calling folder; part of libmpi_abi.so.1
#   herald_unit_test(NAME SOURCES a.cpp ... [USES room ...] [LIBS target ...] [THREADS|SINGLE] [ALONE])
#       GoogleTest program, registered with ctest under the label "unit"; part of the target unit_tests, which the
#       sanitizer presets build. The preset tsan skips tests of rooms without threads, unless THREADS says that the
#       test starts some; SINGLE: neither the test nor the tested code does. ALONE: its files have names in common
#   herald_precompile(TARGET FIRST header ...)
#       precompiled headers for a target, if HERALD_PCH is on: the target FIRST precompiles them, later targets with
#       the same compiler options reuse them
#   herald_fuzzer(NAME SOURCES a.cpp ... [USES room ...])
#       libFuzzer program that ctest runs for 10 seconds under the label "fuzz", from the seeds in corpus/NAME.txt;
#       preset fuzz only

set_property(GLOBAL PROPERTY HERALD_ROOMS "")
set(HERALD_THREADLESS base wire type op model rel group p2p node coll)  # the pure rooms, and base
add_custom_target(unit_tests)
add_custom_target(fuzzers)

# They halve the time of a whole build. Off by default: they prevent hits in compiler caches. Every file still includes
# what it uses: clang-tidy (scripts/lint) works without them.
option(HERALD_PCH "precompile the headers of the standard library" OFF)
if(HERALD_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a precompiled header GCC does not treat the standard library as a system header, and warns falsely.
  target_compile_options(herald_flags INTERFACE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
function(herald_precompile target first)
  if(HERALD_PCH AND target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  elseif(HERALD_PCH AND TARGET ${first})
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()
# The files of a folder are compiled as one: half of the work. GCC inlines less in large units, so files that short messages
# pass through are compiled alone; the kernels of op and the makers of coll have names in common.
option(HERALD_UNITY "compile the files of a folder as one" OFF)
if(HERALD_SANITIZE)
  set(HERALD_ALONE "/src/(wire|op|coll/make)/")
else()
  set(HERALD_ALONE "/src/(wire|op|p2p|path/shm|coll/make)/|/entry_(p2p|request|rma).cpp|/src/path/(inbox|udp/udp|udp/receiver|udp/sender).cpp")
  string(APPEND HERALD_ALONE "|/src/mpi/p2p/(blocking|nonblocking|request_.*).cpp|/src/mpi/rma/(locks|operations).cpp")
  string(APPEND HERALD_ALONE "|/src/engine/(engine|lanes|local_.*|lock|messages|net|peers|progress_thread|self|transport|wait.*).cpp")
endif()
# Folders that are compiled as one, since their files include the same headers.
set(HERALD_TOGETHER_1 "/src/mpi/(dyn|env|tool|topo)$")
set(HERALD_TOGETHER_2 "/src/mpi/(comm|io|type)$")
function(herald_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    if(NOT path MATCHES "${HERALD_ALONE}")
      foreach(n 1 2)
        if(folder MATCHES "${HERALD_TOGETHER_${n}}")
          set(folder "together_${n}")
        endif()
      endforeach()
      string(MAKE_C_IDENTIFIER ${folder} group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HERALD_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
set(HERALD_STANDARD_HEADERS <algorithm> <array> <atomic> <cstdint> <cstdio> <cstring> <functional> <map> <memory> <new>
    <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>)

# Under the sanitizers, compiling these rooms takes longer than running them.
set(HERALD_COLD boot crypto engine exec mpi abi)
function(herald_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  if(ARG_SOURCES)
    add_library(herald_${name} OBJECT ${ARG_SOURCES})
    target_include_directories(herald_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(herald_${name} PRIVATE herald_flags herald_inner)
    herald_unity(herald_${name})
    if(HERALD_SANITIZE AND NOT HERALD_FUZZ AND name IN_LIST HERALD_COLD)
      target_compile_options(herald_${name} PRIVATE -O0)
      herald_precompile(herald_${name} herald_boot ${HERALD_STANDARD_HEADERS})
    else()
      herald_precompile(herald_${name} herald_base ${HERALD_STANDARD_HEADERS})
    endif()
    set_property(GLOBAL APPEND PROPERTY HERALD_ROOMS herald_${name})
  else()
    add_library(herald_${name} INTERFACE)
    target_include_directories(herald_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
  endif()
  set_property(GLOBAL PROPERTY HERALD_USES_${name} "${ARG_USES}")
endfunction()

# The given rooms and all rooms that they use.
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

# Links the object files of rooms, and of the rooms they use, into a program.
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
  cmake_parse_arguments(ARG "THREADS;SINGLE;ALONE" "" "SOURCES;USES;LIBS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE herald_flags GTest::gtest_main ${ARG_LIBS})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  # Tested code has the flags of the preset; for the tests themselves compile time matters more.
  if(HERALD_SANITIZE)
    target_compile_options(test_${name} PRIVATE -O0 -fno-sanitize=undefined)
  else()
    target_compile_options(test_${name} PRIVATE -O1)
  endif()
  if(HERALD_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # fixtures in anonymous namespaces
    target_compile_options(test_${name} PRIVATE -Wno-subobject-linkage)
  endif()
  if(NOT ARG_ALONE)
    herald_unity(test_${name})
  endif()
  herald_precompile(test_${name} test_base <gtest/gtest.h> ${HERALD_STANDARD_HEADERS})
  herald_link_rooms(test_${name} ${ARG_USES})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME unit.${name} COMMAND test_${name})
  herald_closure(rooms ${ARG_USES})
  list(REMOVE_ITEM rooms ${HERALD_THREADLESS})
  if(ARG_USES AND NOT rooms AND NOT ARG_THREADS)
    set(ARG_SINGLE ON)
  endif()
  if(HERALD_SANITIZE STREQUAL "thread" AND ARG_SINGLE)
    set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    set_tests_properties(unit.${name} PROPERTIES LABELS threadless TIMEOUT 1500)
    return()
  endif()
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 1500)
  add_dependencies(unit_tests test_${name})
endfunction()

function(herald_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE herald_flags)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  herald_link_rooms(fuzz_${name} ${ARG_USES})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # Starts with the seeds and with inputs that earlier runs in this tree found. The fixed seed makes runs repeatable.
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}.txt)
  set(corpus ${PROJECT_BINARY_DIR}/corpus/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${seeds})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/seeds.py ${seeds} ${corpus}
                  COMMAND_ERROR_IS_FATAL ANY)
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} -seed=1 -max_total_time=10 -max_len=4096 -timeout=20
           -artifact_prefix=fuzz_${name}- ${corpus})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
  add_dependencies(fuzzers fuzz_${name})
endfunction()
