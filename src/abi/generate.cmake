# SPDX-License-Identifier: BSD-3-Clause
# Runs generate.py: include/mpi.h, and in generated/ the declarations, the entry points and the export list.
set(HERALD_GENERATED ${PROJECT_BINARY_DIR}/generated)
set(generator ${PROJECT_SOURCE_DIR}/src/abi/generate.py)
execute_process(COMMAND ${Python3_EXECUTABLE} -B ${generator} --list-parts
  OUTPUT_VARIABLE parts COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" parts "${parts}")
set(HERALD_ENTRY_POINTS "")
foreach(part ${parts})
  list(APPEND HERALD_ENTRY_POINTS ${HERALD_GENERATED}/entry_${part}.cpp)
endforeach()
file(GLOB generator_parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/abi/gen/*.py)
add_custom_command(
  OUTPUT ${HERALD_ENTRY_POINTS} ${HERALD_GENERATED}/calls.hpp ${HERALD_GENERATED}/exports.map
         ${HERALD_INCLUDE_DIR}/mpi.h
  COMMAND ${Python3_EXECUTABLE} -B ${generator} --out ${HERALD_GENERATED}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${HERALD_INCLUDE_DIR}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${HERALD_GENERATED}/include/mpi.h ${HERALD_INCLUDE_DIR}/mpi.h
  COMMAND ${CMAKE_COMMAND} -E touch ${HERALD_ENTRY_POINTS} ${HERALD_GENERATED}/calls.hpp
          ${HERALD_GENERATED}/exports.map ${HERALD_INCLUDE_DIR}/mpi.h
  DEPENDS ${generator} ${generator_parts} ${PROJECT_SOURCE_DIR}/src/abi/api.tbl
          ${PROJECT_SOURCE_DIR}/src/abi/constants.tbl
  COMMENT "generating the MPI 5.0 interface")
add_custom_target(herald_generate DEPENDS ${HERALD_ENTRY_POINTS} ${HERALD_GENERATED}/calls.hpp)
add_library(herald_generated INTERFACE)
target_include_directories(herald_generated INTERFACE ${HERALD_GENERATED} ${HERALD_INCLUDE_DIR})
add_dependencies(herald_generated herald_generate)
