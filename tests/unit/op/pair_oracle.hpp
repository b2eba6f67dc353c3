// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/op/pair_oracle.hpp: MPI_MAXLOC and MPI_MINLOC of every type of pairs, one pair at a time.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "op/kernels.hpp"

namespace herald::op {

using type::Basic;

template <class V, class I>
void pair_oracle(Kind kind, const unsigned char* in, unsigned char* inout) {
  Pair<V, I> a, b;
  std::memcpy(&a, in, sizeof a);
  std::memcpy(&b, inout, sizeof b);
  const bool better = kind == Kind::minloc ? a.value < b.value : b.value < a.value;
  if (better) {
    b.value = a.value;
    b.index = a.index;
  } else if (a.value == b.value) {
    b.index = std::min(a.index, b.index);
  }
  const std::size_t value_bytes = std::is_same_v<V, long double> && __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(V);
  std::memcpy(inout, &b.value, value_bytes);
  std::memcpy(inout + offsetof(decltype(b), index), &b.index, sizeof(I));
}

inline void pair_by_basic(Kind kind, Basic basic, const unsigned char* in, unsigned char* inout) {
  switch (basic) {
    case Basic::float_int: return pair_oracle<float, int>(kind, in, inout);
    case Basic::double_int: return pair_oracle<double, int>(kind, in, inout);
    case Basic::long_int: return pair_oracle<long, int>(kind, in, inout);
    case Basic::two_int:
    case Basic::two_integer: return pair_oracle<int, int>(kind, in, inout);
    case Basic::short_int: return pair_oracle<short, int>(kind, in, inout);
    case Basic::long_double_int: return pair_oracle<long double, int>(kind, in, inout);
    case Basic::two_real: return pair_oracle<float, float>(kind, in, inout);
    case Basic::two_double_precision: return pair_oracle<double, double>(kind, in, inout);
    default: FAIL();
  }
}

}  // namespace herald::op
