# SPDX-License-Identifier: BSD-3-Clause
# Enables Fortran if there is a compiler; without one the build goes on without the Fortran interface. A language is
# enabled in the scope of the whole project, so this is no part of fortran/CMakeLists.txt.
option(HERALD_FORTRAN "build the Fortran interface if there is a Fortran compiler" ON)
if(NOT HERALD_FORTRAN OR HERALD_SANITIZE)
  return()
endif()
include(CheckLanguage)
# The name that mpifort runs: CMake alone would take the link f95.
find_program(HERALD_GFORTRAN gfortran)
if(NOT CMAKE_Fortran_COMPILER AND NOT DEFINED ENV{FC} AND HERALD_GFORTRAN)
  set(CMAKE_Fortran_COMPILER ${HERALD_GFORTRAN})
else()
  check_language(Fortran)
endif()
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
  # Buffers of mpif.h have any type: without this flag gfortran accepts one type per procedure in a file.
  include(CheckFortranCompilerFlag)
  check_fortran_compiler_flag(-fallow-argument-mismatch HERALD_ARGUMENT_MISMATCH)
  if(HERALD_ARGUMENT_MISMATCH)
    set(HERALD_FORTRAN_FLAGS -fallow-argument-mismatch)
  endif()
else()
  message(STATUS "no Fortran compiler: mpifort, mpif.h and the modules are left out")
endif()
