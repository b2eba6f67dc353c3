// SPDX-License-Identifier: BSD-3-Clause
#include "type/basic.hpp"

#include <array>

#include "type/number.hpp"

namespace herald::type {
namespace {

struct SizeAlign {
  int size, align;
};

template <class T>
constexpr SizeAlign of() {
  return {sizeof(T), alignof(T)};
}
template <class T>
constexpr SizeAlign complex_of() {
  return {2 * sizeof(T), alignof(T)};
}

constexpr SizeAlign measure(Repr repr) {
  switch (repr) {
    case Repr::none:
    case Repr::pair: return {0, 1};
    case Repr::i8:
    case Repr::u8: return of<std::int8_t>();
    case Repr::i16:
    case Repr::u16: return of<std::int16_t>();
    case Repr::i32:
    case Repr::u32: return of<std::int32_t>();
    case Repr::i64:
    case Repr::u64: return of<std::int64_t>();
    case Repr::i128: return of<Int128>();
    case Repr::word:
    case Repr::uword: return of<std::intptr_t>();
    case Repr::f16: return of<std::uint16_t>();
    case Repr::f32: return of<float>();
    case Repr::f64: return of<double>();
    case Repr::fx: return of<long double>();
    case Repr::f128: return of<Quad>();
    case Repr::c16: return complex_of<std::uint16_t>();
    case Repr::c32: return complex_of<float>();
    case Repr::c64: return complex_of<double>();
    case Repr::cx: return complex_of<long double>();
    case Repr::c128: return complex_of<Quad>();
  }
  return {0, 1};
}

constexpr BasicRow single(const char* name, Basic basic, Repr repr, Class klass, int external) {
  const SizeAlign m = measure(repr);
  const auto size = static_cast<std::int16_t>(m.size);
  return {name,
          basic,
          repr,
          klass,
          static_cast<std::uint8_t>(m.align),
          size,
          size,
          static_cast<std::int16_t>(external),
          Basic::none,
          Basic::none};
}

constexpr BasicRow kSingles[] = {
    single("none", Basic::none, Repr::none, Class::none, 0),
#define HERALD_BASIC(id, repr, klass, external) single(#id, Basic::id, Repr::repr, Class::klass, external),
#define HERALD_BASIC_PAIR(id, value, index)
#include "type/basic.def"
#undef HERALD_BASIC
#undef HERALD_BASIC_PAIR
};

constexpr BasicRow pair(const char* name, Basic basic, Basic value, Basic index) {
  const BasicRow& v = kSingles[static_cast<int>(value)];  // singles come first in the table
  const BasicRow& i = kSingles[static_cast<int>(index)];
  const int align = v.align > i.align ? v.align : i.align;
  const int index_at = (v.size + i.align - 1) / i.align * i.align;
  const int extent = (index_at + i.size + align - 1) / align * align;
  return {name,
          basic,
          Repr::pair,
          Class::pair,
          static_cast<std::uint8_t>(align),
          static_cast<std::int16_t>(v.size + i.size),
          static_cast<std::int16_t>(extent),
          static_cast<std::int16_t>(v.external + i.external),
          value,
          index};
}

constexpr BasicRow kRows[] = {
    single("none", Basic::none, Repr::none, Class::none, 0),
#define HERALD_BASIC(id, repr, klass, external) single(#id, Basic::id, Repr::repr, Class::klass, external),
#define HERALD_BASIC_PAIR(id, value, index) pair(#id, Basic::id, Basic::value, Basic::index),
#include "type/basic.def"
#undef HERALD_BASIC
#undef HERALD_BASIC_PAIR
};

constexpr bool in_order() {
  int place = 0;
  for (const BasicRow& row : kRows) {
    if (static_cast<int>(row.basic) != place++) return false;
  }
  return true;
}
static_assert(in_order(), "row_of() indexes by the enumerator");
constexpr bool external_is_no_larger() {
  for (const BasicRow& row : kRows) {
    if (row.external > row.size) return false;
  }
  return true;
}
static_assert(external_is_no_larger(), "sizes in external32 are not checked for overflow");
static_assert(std::size(kRows) == kBasics);

}  // namespace

std::span<const BasicRow> basic_rows() noexcept { return kRows; }

const BasicRow& row_of(Basic basic) noexcept { return kRows[static_cast<int>(basic)]; }

}  // namespace herald::type
