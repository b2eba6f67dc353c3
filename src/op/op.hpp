// SPDX-License-Identifier: BSD-3-Clause
// op/op.hpp: the kernels of the predefined reductions.
#pragma once
#include <cstddef>
#include <cstdint>

#include "type/basic.hpp"

namespace herald::op {

enum class Kind : std::uint8_t {
  sum,
  prod,
  min,
  max,
  band,
  bor,
  bxor,
  land,
  lor,
  lxor,
  minloc,
  maxloc,
  replace,
  no_op
};
constexpr int kKinds = 14;

// inout[i] = in[i] op inout[i] for `count` elements (pairs: whole pairs, spaced as in a C array). The two
// arrays do not overlap; they need no more alignment than the element's.
using Kernel = void (*)(const void* in, void* inout, std::size_t count);

// Null if the MPI standard does not allow this reduction on this kind of element.
Kernel find(Kind kind, type::Basic basic) noexcept;

}  // namespace herald::op
