// SPDX-License-Identifier: BSD-3-Clause
// type/basic.hpp: the predefined kinds of element: representation, class and size.
#pragma once
#include <cstdint>
#include <span>

namespace herald::type {

enum class Basic : std::uint8_t {
  none,  // of a layout: no element at all, or elements of several kinds
#define HERALD_BASIC(id, repr, klass, external) id,
#define HERALD_BASIC_PAIR(id, value, index) id,
#include "type/basic.def"
#undef HERALD_BASIC
#undef HERALD_BASIC_PAIR
};

constexpr int kBasics = 1
#define HERALD_BASIC(id, repr, klass, external) +1
#define HERALD_BASIC_PAIR(id, value, index) +1
#include "type/basic.def"
#undef HERALD_BASIC
#undef HERALD_BASIC_PAIR
    ;

// The representation of an element. `word` is as wide as a pointer; `fx` is the compiler's long double.
enum class Repr : std::uint8_t {
  none,
  i8,
  i16,
  i32,
  i64,
  i128,
  u8,
  u16,
  u32,
  u64,
  word,
  uword,  //
  f16,
  f32,
  f64,
  fx,
  f128,
  c16,
  c32,
  c64,
  cx,
  c128,
  pair
};

// Which reductions the MPI standard allows goes by class.
enum class Class : std::uint8_t {
  none,
  byte,
  opaque,
  character,
  c_integer,
  f_integer,
  shared_integer,
  logical,
  floating,
  complex,
  pair
};

struct BasicRow {
  const char* name;
  Basic basic;
  Repr repr;
  Class klass;
  std::uint8_t align;
  std::int16_t size;      // bytes of data
  std::int16_t extent;    // distance in an array: larger than size if a pair has gaps
  std::int16_t external;  // bytes in external32
  Basic value, index;     // of a pair
};

// One row per Basic, in order; row 0 is `none`.
std::span<const BasicRow> basic_rows() noexcept;
const BasicRow& row_of(Basic basic) noexcept;

}  // namespace herald::type
