# SPDX-License-Identifier: BSD-3-Clause
# The behaviour programs of the library, under other launchers and under mpiexec.
#
#   herald_launcher_tests(PROGRAM target ... RANKS n ... [ARGS a ...] [ENV NAME=value ...] [EXPECT text]
#                         [MESSAGE regex] [LAUNCHERS name ...] [TIMEOUT s] [FAILS] [LONG])
#       registers each program for each number of ranks under every launcher. The job must end with exit code 0
#       within TIMEOUT (default 60 s) and leave no process. EXPECT: its output contains this text. MESSAGE: its output
#       matches this pattern. FAILS: the exit code must not be 0 (an abort, a failing rank). LONG: in make test-long only.
#
# One test, launchers.NAME.programs, runs all programs of a launcher, so that Slurm starts once; launchers.NAME.long runs
# the LONG ones. The build tree has the list of jobs in tests/launchers/NAME.programs.json and NAME.long.json.
set_property(GLOBAL PROPERTY HERALD_LAUNCHERS herald openmpi prrte hydra slurm-pmix slurm-pmi2)

# JSON strings, separated by commas.
function(herald_json_strings out)
  set(strings "")
  foreach(text IN LISTS ARGN)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n" text "${text}")
    list(APPEND strings "\"${text}\"")
  endforeach()
  list(JOIN strings "," strings)
  set(${out} "${strings}" PARENT_SCOPE)
endfunction()

function(herald_launcher_tests)
  cmake_parse_arguments(ARG "FAILS;LONG" "TIMEOUT;EXPECT;MESSAGE" "PROGRAM;RANKS;ARGS;ENV;LAUNCHERS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_PROGRAM OR NOT ARG_RANKS)
    message(FATAL_ERROR "herald_launcher_tests: PROGRAM and RANKS are required; unknown: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_LAUNCHERS)
    get_property(ARG_LAUNCHERS GLOBAL PROPERTY HERALD_LAUNCHERS)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  set(fails false)
  if(ARG_FAILS)
    set(fails true)
  endif()
  list(JOIN ARG_RANKS "," ranks)
  herald_json_strings(args ${ARG_ARGS})
  herald_json_strings(env ${ARG_ENV})
  set(expect "\"\"")
  if(ARG_EXPECT)
    herald_json_strings(expect "${ARG_EXPECT}")
  endif()
  set(message "\"\"")
  if(ARG_MESSAGE)
    herald_json_strings(message "${ARG_MESSAGE}")
  endif()
  set(suite programs)
  if(ARG_LONG)
    set(suite long)
  endif()
  set(how "\"args\": [${args}], \"ranks\": [${ranks}], \"env\": [${env}], \"expect\": ${expect}")
  string(APPEND how ", \"message\": ${message}, \"fails\": ${fails}, \"limit\": ${ARG_TIMEOUT}")
  foreach(program IN LISTS ARG_PROGRAM)
    foreach(launcher IN LISTS ARG_LAUNCHERS)
      set(file "\"program\": \"$<TARGET_FILE:${program}>\"")
      set_property(GLOBAL APPEND_STRING PROPERTY HERALD_JOBS_${launcher}.${suite} ",\n  {${file}, ${how}}")
    endforeach()
  endforeach()
endfunction()

# A test with the label `launchers`: run.py under `launcher` with further arguments.
function(herald_add_launcher_test name launcher)
  add_test(NAME launchers.${name}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/launchers/run.py --launcher ${launcher}
            --mpiexec ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/mpiexec ${ARGN})
  set_tests_properties(launchers.${name} PROPERTIES
    LABELS launchers TIMEOUT 900 SKIP_RETURN_CODE 77 PROCESSORS 2 COST 90)
endfunction()

# Called after all folders.
function(herald_write_launcher_tests)
  get_property(launchers GLOBAL PROPERTY HERALD_LAUNCHERS)
  foreach(launcher IN LISTS launchers)
    foreach(suite programs long)
      get_property(jobs GLOBAL PROPERTY HERALD_JOBS_${launcher}.${suite})
      if(jobs)
        string(SUBSTRING "${jobs}" 1 -1 jobs)  # the comma before the first
        set(file ${PROJECT_BINARY_DIR}/tests/launchers/${launcher}.${suite}.json)
        file(GENERATE OUTPUT ${file} CONTENT "[${jobs}\n]\n")
        herald_add_launcher_test(${launcher}.${suite} ${launcher} --suite ${file})
        if(suite STREQUAL long OR launcher MATCHES "^slurm")  # launchers.slurm-*.boot test what differs from the others
          set_tests_properties(launchers.${launcher}.${suite} PROPERTIES LABELS "launchers;long")
        endif()
      endif()
    endforeach()
  endforeach()
endfunction()
