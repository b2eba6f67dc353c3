# SPDX-License-Identifier: BSD-3-Clause
# herald_wrappers(DIR INCLUDE_SUBDIR LIBRARY_SUBDIR): writes mpicc, mpicxx, mpic++, mpiCC into DIR/bin and
# herald.pc, mpi.pc into DIR/LIBRARY_SUBDIR/pkgconfig, for an installation with these folder names.
set(HERALD_EXECUTABLE OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

function(herald_wrappers dir HERALD_INCLUDE_SUBDIR HERALD_LIBRARY_SUBDIR)
  get_filename_component(c_name ${CMAKE_C_COMPILER} NAME)
  get_filename_component(cxx_name ${CMAKE_CXX_COMPILER} NAME)
  foreach(row "mpicc|C|HERALD_CC|${c_name}|-cc" "mpicxx|C++|HERALD_CXX|${cxx_name}|-cxx")
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 WRAPPER)
    list(GET row 1 LANGUAGE)
    list(GET row 2 VARIABLE)
    list(GET row 3 COMPILER)
    list(GET row 4 SWITCH)
    configure_file(${PROJECT_SOURCE_DIR}/tools/mpicc.in ${dir}/bin/${WRAPPER} @ONLY FILE_PERMISSIONS ${HERALD_EXECUTABLE})
  endforeach()
  foreach(name mpic++ mpiCC)
    file(CREATE_LINK mpicxx ${dir}/bin/${name} SYMBOLIC)
  endforeach()
  # The path from lib/pkgconfig (or lib/ARCH/pkgconfig) to the prefix.
  file(RELATIVE_PATH PC_UP "/${HERALD_LIBRARY_SUBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" PC_UP "${PC_UP}")
  foreach(PC_NAME herald mpi)
    configure_file(${PROJECT_SOURCE_DIR}/tools/herald.pc.in ${dir}/${HERALD_LIBRARY_SUBDIR}/pkgconfig/${PC_NAME}.pc @ONLY)
  endforeach()
endfunction()
