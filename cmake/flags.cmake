# SPDX-License-Identifier: BSD-3-Clause
# herald_flags: warnings and sanitizers, for everything.
# herald_inner: flags of the rooms only (no exceptions, no RTTI, hidden symbols).
add_library(herald_flags INTERFACE)
target_compile_options(herald_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wswitch -Werror=switch -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  # GCC 12 warns about overlaps inside its own std::string (its bug 105329).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_link_libraries(herald_flags INTERFACE Threads::Threads)
if(HERALD_SANITIZE)
  target_compile_options(herald_flags INTERFACE -fsanitize=${HERALD_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(herald_flags INTERFACE -fsanitize=${HERALD_SANITIZE})
  if(HERALD_SANITIZE MATCHES undefined)
    # The vptr check needs RTTI, which the rooms lack; AddressSanitizer finds what null and object-size check, at half
    # the cost. A finding ends the test.
    target_compile_options(herald_flags INTERFACE -fno-sanitize=vptr,null,object-size -fno-sanitize-recover=undefined)
    target_link_options(herald_flags INTERFACE -fno-sanitize=vptr)
  endif()
endif()

# Fuzzing: all rooms are instrumented for libFuzzer; only the fuzz programs link its main().
option(HERALD_FUZZ "build the libFuzzer programs (clang)" OFF)
if(HERALD_FUZZ)
  target_compile_options(herald_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(herald_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

add_library(herald_inner INTERFACE)
target_compile_options(herald_inner INTERFACE
  -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fvisibility-inlines-hidden>)

# Profile-guided optimization (scripts/train, scripts/release). The flags depend on the settings alone, so that a profile
# gives the same library each time. Code that the profile does not cover is optimized as without one.
set(HERALD_PROFILE "" CACHE STRING "generate: count branches at run time; use: optimize with such counts; empty: neither")
set(HERALD_PROFILE_DIR "" CACHE PATH "the folder of the counts")
if(HERALD_PROFILE)
  if(NOT HERALD_PROFILE MATCHES "^(generate|use)$" OR NOT HERALD_PROFILE_DIR)
    message(FATAL_ERROR "HERALD_PROFILE is generate or use, and HERALD_PROFILE_DIR is set; got ${HERALD_PROFILE}")
  endif()
  target_compile_options(herald_inner INTERFACE -fprofile-prefix-path=${PROJECT_BINARY_DIR})
  if(HERALD_PROFILE STREQUAL "generate")
    target_compile_options(herald_inner INTERFACE -fprofile-generate=${HERALD_PROFILE_DIR} -fprofile-update=prefer-atomic)
    target_link_options(herald_flags INTERFACE -fprofile-generate)
  elseif(IS_DIRECTORY ${HERALD_PROFILE_DIR})
    target_compile_options(herald_inner INTERFACE -fprofile-use=${HERALD_PROFILE_DIR} -fprofile-partial-training
      -Wno-missing-profile -Wno-coverage-mismatch)
  else()
    message(FATAL_ERROR "HERALD_PROFILE_DIR=${HERALD_PROFILE_DIR} does not exist; scripts/train makes it")
  endif()
endif()
