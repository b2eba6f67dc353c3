// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a kernel of one vector level differs from plain arithmetic in its tail or in its last
// bit; a reduction that MPI forbids is offered, or one that it demands is missing; a pair's gap is
// overwritten; signed overflow is undefined instead of wrapping; a half is rounded wrongly.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/prng.hpp"
#include "op/kernels.hpp"
#include "op/number.hpp"
#include "tests/unit/op/pair_oracle.hpp"

namespace herald::op {
namespace {

using type::Basic;
using type::BasicRow;
using type::Repr;

constexpr Kind kAll[kKinds] = {Kind::sum,    Kind::prod,   Kind::min,     Kind::max,  Kind::band,
                               Kind::bor,    Kind::bxor,   Kind::land,    Kind::lor,  Kind::lxor,
                               Kind::minloc, Kind::maxloc, Kind::replace, Kind::no_op};
constexpr Level kLevels[] = {Level::base, Level::avx2, Level::avx512};

// The table by name, written independently: s sum/prod, m min/max, b bitwise, l logical, p minloc/maxloc. It
// is the standard's, plus logical operations on Fortran integers, addresses, counts and offsets, and on C
// characters, which other libraries accept.
std::string rights(const std::string& name) {
  auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (name == "none") return "";
  if (name == "byte") return "b";
  if (name == "packed" || name == "c_wchar" || name == "f_character") return "-";
  if (has("_int") && !has("unsigned") && name != "c_int" && !has("f_integer")) return "p";
  if (name == "two_real" || name == "two_double_precision") return "p";
  if (has("complex")) return "s";
  if (has("bool") || has("logical")) return "l";
  if (has("float") || has("double") || has("real")) return "sm";
  return "smbl";
}

char letter(Kind kind) {
  switch (kind) {
    case Kind::sum:
    case Kind::prod: return 's';
    case Kind::min:
    case Kind::max: return 'm';
    case Kind::band:
    case Kind::bor:
    case Kind::bxor: return 'b';
    case Kind::land:
    case Kind::lor:
    case Kind::lxor: return 'l';
    case Kind::minloc:
    case Kind::maxloc: return 'p';
    case Kind::replace:
    case Kind::no_op: return '*';
  }
  return '?';
}

TEST(Op, is_offered_exactly_where_the_table_allows_it) {
  int advertised = 0;
  for (const BasicRow& row : type::basic_rows()) {
    for (const Kind kind : kAll) {
      const std::string may = rights(row.name);
      const bool want = letter(kind) == '*' ? !may.empty() : may.find(letter(kind)) != std::string::npos;
      EXPECT_EQ(find(kind, row.basic) != nullptr, want) << row.name << " kind " << static_cast<int>(kind);
      advertised += want ? 1 : 0;
    }
  }
  EXPECT_GT(advertised, 300);
}

// Computes one element without code of src/op.

Int128 load_integer(const unsigned char* at, int bytes, bool is_signed) {
  Uint128 bits = 0;
  for (int i = bytes - 1; i >= 0; --i) bits = bits << 8 | at[i];
  if (is_signed && bytes < 16 && (at[bytes - 1] & 0x80) != 0) bits |= ~Uint128{0} << (8 * bytes);
  return static_cast<Int128>(bits);
}

void integer_oracle(Kind kind, bool is_signed, int bytes, const unsigned char* in, unsigned char* inout) {
  const Int128 a = load_integer(in, bytes, is_signed), b = load_integer(inout, bytes, is_signed);
  Uint128 r = 0;
  switch (kind) {
    case Kind::sum: r = static_cast<Uint128>(a) + static_cast<Uint128>(b); break;
    case Kind::prod: r = static_cast<Uint128>(a) * static_cast<Uint128>(b); break;
    case Kind::min: r = static_cast<Uint128>(a < b ? a : b); break;
    case Kind::max: r = static_cast<Uint128>(a < b ? b : a); break;
    case Kind::band: r = static_cast<Uint128>(a & b); break;
    case Kind::bor: r = static_cast<Uint128>(a | b); break;
    case Kind::bxor: r = static_cast<Uint128>(a ^ b); break;
    case Kind::land: r = a != 0 && b != 0 ? 1 : 0; break;
    case Kind::lor: r = a != 0 || b != 0 ? 1 : 0; break;
    case Kind::lxor: r = (a != 0) != (b != 0) ? 1 : 0; break;
    default: FAIL();
  }
  for (int i = 0; i < bytes; ++i, r >>= 8) inout[i] = static_cast<unsigned char>(r);
}

template <class T>
T reckon(Kind kind, T a, T b) {
  switch (kind) {
    case Kind::sum: return a + b;
    case Kind::prod: return a * b;
    case Kind::min: return b < a ? b : a;
    case Kind::max: return a < b ? b : a;
    default: ADD_FAILURE(); return a;
  }
}

// All half-precision values by definition, so that rounding finds the nearest one.
double half_value(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = bits & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

unsigned nearest_half(double value) {
  if (std::isnan(value)) return 0x7e00;
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;  // half way to the next step beyond the largest
  unsigned lo = 0, hi = 0x7c00;
  while (hi - lo > 1) {
    const unsigned mid = (lo + hi) / 2;
    (half_value(mid) <= size ? lo : hi) = mid;
  }
  const double below = size - half_value(lo);
  const double above = (hi == 0x7c00 ? 65536.0 : half_value(hi)) - size;
  return sign | (below < above || (below == above && lo % 2 == 0) ? lo : hi);
}

template <class T>
void real_oracle(Kind kind, const unsigned char* in, unsigned char* inout) {
  T a, b;
  std::memcpy(&a, in, sizeof a);
  std::memcpy(&b, inout, sizeof b);
  const T r = reckon<T>(kind, a, b);
  std::memcpy(inout, &r,
              sizeof(T) == sizeof(long double) && __LDBL_MANT_DIG__ == 64 && std::is_same_v<T, long double>
                  ? 10
                  : sizeof r);
}

template <class T>
void complex_oracle(Kind kind, const unsigned char* in, unsigned char* inout) {
  T a[2], b[2];
  std::memcpy(a, in, sizeof a);
  std::memcpy(b, inout, sizeof b);
  const bool sum = kind == Kind::sum;
  volatile T p = a[0] * b[0], q = a[1] * b[1], r = a[0] * b[1], s = a[1] * b[0];  // each rounded by itself
  const T out[2] = {sum ? a[0] + b[0] : p - q, sum ? a[1] + b[1] : r + s};
  std::memcpy(inout, out, sizeof out);
}

void half_oracle(Kind kind, const unsigned char* in, unsigned char* inout) {
  std::uint16_t a, b;
  std::memcpy(&a, in, 2);
  std::memcpy(&b, inout, 2);
  const auto r = static_cast<std::uint16_t>(nearest_half(reckon<double>(kind, half_value(a), half_value(b))));
  std::memcpy(inout, &r, 2);
}

void complex_half_oracle(Kind kind, const unsigned char* in, unsigned char* inout) {
  std::uint16_t a[2], b[2], out[2];
  std::memcpy(a, in, 4);
  std::memcpy(b, inout, 4);
  float x[2], y[2];
  for (int i = 0; i < 2; ++i) {
    x[i] = static_cast<float>(half_value(a[i]));
    y[i] = static_cast<float>(half_value(b[i]));
  }
  float r[4];
  std::memcpy(r, x, 8);
  std::memcpy(r + 2, y, 8);
  unsigned char bytes[8];
  std::memcpy(bytes, y, 8);
  complex_oracle<float>(kind, reinterpret_cast<unsigned char*>(r), bytes);
  std::memcpy(y, bytes, 8);
  for (int i = 0; i < 2; ++i) out[i] = static_cast<std::uint16_t>(nearest_half(static_cast<double>(y[i])));
  std::memcpy(inout, out, 4);
}

void oracle(Kind kind, const BasicRow& row, const unsigned char* in, unsigned char* inout) {
  if (kind == Kind::no_op) return;
  if (row.repr == Repr::pair && kind != Kind::replace) return pair_by_basic(kind, row.basic, in, inout);
  if (kind == Kind::replace) {
    const int gap_at = row.repr == Repr::pair ? type::row_of(row.value).size : row.size;
    const int index_size = row.repr == Repr::pair ? type::row_of(row.index).size : 0;
    const int index_at =
        (gap_at + std::max(index_size, 1) - 1) / std::max(index_size, 1) * std::max(index_size, 1);
    std::memcpy(inout, in, static_cast<std::size_t>(gap_at));
    std::memcpy(inout + index_at, in + index_at, static_cast<std::size_t>(index_size));
    return;
  }
  switch (row.repr) {
    case Repr::f16: return half_oracle(kind, in, inout);
    case Repr::f32: return real_oracle<float>(kind, in, inout);
    case Repr::f64: return real_oracle<double>(kind, in, inout);
    case Repr::fx: return real_oracle<long double>(kind, in, inout);
    case Repr::f128: return real_oracle<Quad>(kind, in, inout);
    case Repr::c16: return complex_half_oracle(kind, in, inout);
    case Repr::c32: return complex_oracle<float>(kind, in, inout);
    case Repr::c64: return complex_oracle<double>(kind, in, inout);
    case Repr::cx: return complex_oracle<long double>(kind, in, inout);
    case Repr::c128: return complex_oracle<Quad>(kind, in, inout);
    case Repr::u8:
    case Repr::u16:
    case Repr::u32:
    case Repr::u64:
    case Repr::uword: return integer_oracle(kind, false, row.size, in, inout);
    default: return integer_oracle(kind, true, row.size, in, inout);
  }
}

// Random numbers of a kind (never NaN: its bits are unspecified); truth values 0, 1 and other.
template <class T>
void put(unsigned char* at, T value) {
  std::memset(at, 0, sizeof value);
  std::memcpy(at, &value, std::is_same_v<T, long double> && __LDBL_MANT_DIG__ == 64 ? 10 : sizeof value);
}

void put_number(Prng& prng, Repr repr, int bytes, unsigned char* at) {
  const double real = (static_cast<double>(prng.below(2001)) - 1000) / 8 * (prng.below(4) == 0 ? 1e-3 : 1);
  switch (repr) {
    case Repr::f16: return put(at, static_cast<std::uint16_t>(nearest_half(real)));
    case Repr::f32: return put(at, static_cast<float>(real));
    case Repr::f64: return put(at, real);
    case Repr::fx: return put(at, static_cast<long double>(real) / 3);
    case Repr::f128: return put(at, static_cast<Quad>(real) / 3);
    default: break;
  }
  const bool small = prng.below(3) == 0;
  for (int i = 0; i < bytes; ++i) at[i] = small ? 0 : static_cast<unsigned char>(prng.next());
  if (small) at[0] = static_cast<unsigned char>(prng.below(3));
}

void fill(Prng& prng, const BasicRow& row, std::vector<unsigned char>& cells, std::size_t count) {
  static const std::map<Repr, Repr> parts = {{Repr::c16, Repr::f16},
                                             {Repr::c32, Repr::f32},
                                             {Repr::c64, Repr::f64},
                                             {Repr::cx, Repr::fx},
                                             {Repr::c128, Repr::f128}};
  for (auto& c : cells) c = 0xee;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* at = cells.data() + i * static_cast<std::size_t>(row.extent);
    if (const auto part = parts.find(row.repr); part != parts.end()) {
      put_number(prng, part->second, row.size / 2, at);
      put_number(prng, part->second, row.size / 2, at + row.size / 2);
    } else if (row.repr == Repr::pair) {
      const BasicRow& value = type::row_of(row.value);
      const BasicRow& index = type::row_of(row.index);
      put_number(prng, value.repr, value.size, at);
      put_number(prng, index.repr, index.size,
                 at + (value.size + index.align - 1) / index.align * index.align);
    } else {
      put_number(prng, row.repr, row.size, at);
    }
  }
}

// x87 numbers have padding of unspecified value.
void blank_padding(const BasicRow& row, std::vector<unsigned char>& cells, std::size_t count) {
  if (__LDBL_MANT_DIG__ != 64) return;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* at = cells.data() + i * static_cast<std::size_t>(row.extent);
    const bool value = row.repr == Repr::pair && type::row_of(row.value).repr == Repr::fx;
    if (row.repr == Repr::fx || row.repr == Repr::cx || value) std::memset(at + 10, 0, 6);
    if (row.repr == Repr::cx) std::memset(at + 26, 0, 6);
  }
}

TEST(Op, every_kernel_of_every_level_agrees_with_plain_arithmetic) {
  Prng prng{77};
  for (const BasicRow& row : type::basic_rows()) {
    for (const Kind kind : kAll) {
      for (const Level level : kLevels) {
        const Kernel kernel = find_at(level, kind, row.basic);
        if (kernel == nullptr || !runs_here(level)) continue;
        for (const std::size_t count : {0u, 1u, 3u, 16u, 31u, 133u}) {
          const std::size_t bytes =
              (count + 1) * static_cast<std::size_t>(row.extent);  // one more element, which must not change
          alignas(64) static unsigned char in_room[8192], out_room[8192];
          std::vector<unsigned char> in(bytes), want(bytes);
          fill(prng, row, in, count);
          fill(prng, row, want, count);
          std::memcpy(in_room, in.data(), bytes);
          std::memcpy(out_room, want.data(), bytes);
          for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = i * static_cast<std::size_t>(row.extent);
            oracle(kind, row, in.data() + at, want.data() + at);
          }
          kernel(in_room, out_room, count);
          std::vector<unsigned char> got(out_room, out_room + bytes);
          blank_padding(row, got, count);
          blank_padding(row, want, count);
          ASSERT_EQ(got, want) << row.name << " kind " << static_cast<int>(kind) << " level "
                               << static_cast<int>(level) << " count " << count;
        }
      }
    }
  }
}

TEST(Half, converts_every_value_both_ways) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if ((bits & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_GT(float_to_half(value) & 0x7fff, 0x7c00);
    } else {
      EXPECT_EQ(static_cast<double>(value), half_value(bits));
      EXPECT_EQ(float_to_half(value), bits);
    }
  }
}

TEST(Half, rounds_to_the_nearest_and_ties_to_even) {
  Prng prng{5};
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(prng.next());
    float value = std::bit_cast<float>(bits);
    if (i % 2 == 0)
      value = half_to_float(static_cast<std::uint16_t>(bits & 0x7bff)) + (i % 4 == 0 ? 0x1p-25f : 0);
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half(value), nearest_half(static_cast<double>(value))) << value;
  }
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);
}

TEST(Op, equal_values_keep_the_lower_index) {
  struct {
    double value;
    int index;
  } in[2] = {{1.0, 7}, {1.0, 3}}, inout[2] = {{1.0, 5}, {1.0, 5}};
  find(Kind::maxloc, Basic::double_int)(in, inout, 2);
  EXPECT_EQ(inout[0].index, 5);
  EXPECT_EQ(inout[1].index, 3);
}

}  // namespace
}  // namespace herald::op
