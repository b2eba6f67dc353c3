# SPDX-License-Identifier: BSD-3-Clause
# herald_flags: warnings and sanitizers, for everything.
# herald_inner: what only the library's own rooms get (no exceptions, no RTTI, hidden symbols).
add_library(herald_flags INTERFACE)
target_compile_options(herald_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wswitch -Werror=switch -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  # GCC 12 warns of overlaps inside its own std::string (its bug 105329).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_link_libraries(herald_flags INTERFACE Threads::Threads)
if(HERALD_SANITIZE)
  target_compile_options(herald_flags INTERFACE -fsanitize=${HERALD_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(herald_flags INTERFACE -fsanitize=${HERALD_SANITIZE})
  if(HERALD_SANITIZE MATCHES undefined)
    # The check of dynamic types needs RTTI, which the rooms do not have; null pointers and the ends of objects are what
    # AddressSanitizer finds, at half the price. A finding ends the test.
    target_compile_options(herald_flags INTERFACE -fno-sanitize=vptr,null,object-size -fno-sanitize-recover=undefined)
    target_link_options(herald_flags INTERFACE -fno-sanitize=vptr)
  endif()
endif()

# Fuzzing: every room tells libFuzzer which branches it took; only the fuzz programs link its main().
option(HERALD_FUZZ "build the libFuzzer programs (clang)" OFF)
if(HERALD_FUZZ)
  target_compile_options(herald_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(herald_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

add_library(herald_inner INTERFACE)
target_compile_options(herald_inner INTERFACE
  -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fvisibility-inlines-hidden>)

# Training (scripts/train): a library that was built with "make" notes in HERALD_PROFILE_DIR which ways it goes; one that is
# built with "use" has these laid out straight. What was not run in training is built as without notes, and so is what has
# changed since.
set(HERALD_PROFILE "" CACHE STRING "make: the library notes which ways it goes; use: it is built for those; empty: neither")
set(HERALD_PROFILE_DIR ${PROJECT_SOURCE_DIR}/build/profile CACHE PATH "where the notes are")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  set(HERALD_CAN_PROFILE ON CACHE INTERNAL "this compiler can be told where the notes are")
endif()
if(HERALD_PROFILE AND HERALD_CAN_PROFILE)
  target_compile_options(herald_inner INTERFACE -fprofile-prefix-path=${PROJECT_BINARY_DIR})
  if(HERALD_PROFILE STREQUAL "make")
    target_compile_options(herald_inner INTERFACE -fprofile-generate=${HERALD_PROFILE_DIR} -fprofile-update=prefer-atomic)
    target_link_options(herald_flags INTERFACE -fprofile-generate)
  else()
    # The compiler says of no file that it read the notes: what was built for others is built again because of the time.
    file(TIMESTAMP ${HERALD_PROFILE_DIR} HERALD_PROFILE_TIME "%s")
    target_compile_options(herald_inner INTERFACE -fprofile-use=${HERALD_PROFILE_DIR} -fprofile-partial-training
      -Wno-missing-profile -Wno-coverage-mismatch -DHERALD_PROFILE_TIME=${HERALD_PROFILE_TIME})
  endif()
endif()
