// SPDX-License-Identifier: BSD-3-Clause
// A value and its index; and MPI_REPLACE, which needs no arithmetic.
#include <cstring>

#include "op/kernels.hpp"
#include "op/number.hpp"

namespace herald::op {
namespace {

enum class Wanted { smallest, largest, incoming };

// Members are written one by one: padding between them is not touched. Of equal values the lower index is
// kept.
template <class V, class I, Wanted kWanted>
void pair_loop(const void* in, void* inout, std::size_t count) {
  const auto* __restrict a = static_cast<const Pair<V, I>*>(in);
  auto* __restrict b = static_cast<Pair<V, I>*>(inout);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (kWanted == Wanted::incoming) {
      b[i].value = a[i].value;
      b[i].index = a[i].index;
    } else {
      const bool better = kWanted == Wanted::smallest ? a[i].value < b[i].value : a[i].value > b[i].value;
      const bool equal = a[i].value == b[i].value;
      if (better || (equal && a[i].index < b[i].index)) b[i].index = a[i].index;
      if (better) b[i].value = a[i].value;
    }
  }
}

template <class V, class I>
Levels pair_kernel(Kind kind) noexcept {
  if (kind == Kind::minloc) return {pair_loop<V, I, Wanted::smallest>, nullptr, nullptr};
  if (kind == Kind::maxloc) return {pair_loop<V, I, Wanted::largest>, nullptr, nullptr};
  if (kind == Kind::replace) return {pair_loop<V, I, Wanted::incoming>, nullptr, nullptr};
  return {};
}

template <std::size_t kBytes>
void replace_loop(const void* in, void* inout, std::size_t count) {
  if (count != 0) std::memcpy(inout, in, kBytes * count);
}

}  // namespace

Levels find_pair(Kind kind, type::Basic basic) noexcept {
  switch (basic) {
    case type::Basic::float_int: return pair_kernel<float, int>(kind);
    case type::Basic::double_int: return pair_kernel<double, int>(kind);
    case type::Basic::long_int: return pair_kernel<long, int>(kind);
    case type::Basic::two_int:
    case type::Basic::two_integer: return pair_kernel<std::int32_t, std::int32_t>(kind);
    case type::Basic::short_int: return pair_kernel<short, int>(kind);
    case type::Basic::long_double_int: return pair_kernel<long double, int>(kind);
    case type::Basic::two_real: return pair_kernel<float, float>(kind);
    case type::Basic::two_double_precision: return pair_kernel<double, double>(kind);
    default: return {};
  }
}

Levels find_replace(int bytes) noexcept {
  switch (bytes) {
    case 1: return {replace_loop<1>, nullptr, nullptr};
    case 2: return {replace_loop<2>, nullptr, nullptr};
    case 4: return {replace_loop<4>, nullptr, nullptr};
    case 8: return {replace_loop<8>, nullptr, nullptr};
    case 16: return {replace_loop<16>, nullptr, nullptr};
    case 32: return {replace_loop<32>, nullptr, nullptr};
    default: return {};
  }
}

}  // namespace herald::op
