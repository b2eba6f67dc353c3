// SPDX-License-Identifier: BSD-3-Clause
// Which reduction is allowed on which class of element, and the choice of level. The table is that of
// the MPI standard and a little wider, as in other MPI libraries: logical operations take every integer,
// and MPI_CHAR is an integer of 8 bits.
#include "op/op.hpp"

#include <array>

#include "op/kernels.hpp"

namespace herald::op {
namespace {

using type::Class;

void do_nothing(const void*, void*, std::size_t) {}

bool integer(Class klass) noexcept {
  return klass == Class::c_integer || klass == Class::f_integer || klass == Class::shared_integer;
}

bool arithmetic(Class klass) noexcept { return integer(klass) || klass == Class::floating; }

bool allowed(Kind kind, Class klass) noexcept {
  switch (kind) {
    case Kind::sum:
    case Kind::prod: return arithmetic(klass) || klass == Class::complex;
    case Kind::min:
    case Kind::max: return arithmetic(klass);
    case Kind::band:
    case Kind::bor:
    case Kind::bxor: return integer(klass) || klass == Class::byte;
    case Kind::land:
    case Kind::lor:
    case Kind::lxor: return integer(klass) || klass == Class::logical;
    case Kind::minloc:
    case Kind::maxloc: return klass == Class::pair;
    case Kind::replace:
    case Kind::no_op: return klass != Class::none;
  }
  return false;
}

Levels find_levels(Kind kind, type::Basic basic) noexcept {
  const type::BasicRow& row = type::row_of(basic);
  if (!allowed(kind, basic == type::Basic::c_char ? Class::c_integer : row.klass)) return {};
  if (kind == Kind::no_op) return {do_nothing, nullptr, nullptr};
  if (row.klass == Class::pair) return find_pair(kind, basic);
  if (kind == Kind::replace) return find_replace(row.size);
  if (row.klass == Class::floating || row.klass == Class::complex) return find_floating(kind, row.repr);
  return find_integer(kind, row.repr);
}

Level best_level() noexcept {
  static const Level level = runs_here(Level::avx512) ? Level::avx512
                             : runs_here(Level::avx2) ? Level::avx2
                                                      : Level::base;
  return level;
}

using Kernels = std::array<std::array<Kernel, type::kBasics>, kKinds>;

// A short update of window memory asks for its kernel in each call.
Kernels find_all() noexcept {
  const Level level = best_level();
  Kernels all{};
  for (std::size_t kind = 0; kind < all.size(); ++kind)
    for (std::size_t basic = 0; basic < all[kind].size(); ++basic) {
      const Levels found = find_levels(static_cast<Kind>(kind), static_cast<type::Basic>(basic));
      all[kind][basic] = level == Level::avx512 && found.avx512 != nullptr ? found.avx512
                         : level != Level::base && found.avx2 != nullptr   ? found.avx2
                                                                           : found.base;
    }
  return all;
}

}  // namespace

bool runs_here(Level level) noexcept {
  if (level == Level::base) return true;
#if HERALD_OP_HAS_LEVELS
  if (level == Level::avx2) return __builtin_cpu_supports("avx2") != 0;
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
#else
  return false;
#endif
}

Kernel find_at(Level level, Kind kind, type::Basic basic) noexcept {
  const Levels found = find_levels(kind, basic);
  switch (level) {
    case Level::base: return found.base;
    case Level::avx2: return found.avx2;
    case Level::avx512: return found.avx512;
  }
  return nullptr;
}

Kernel find(Kind kind, type::Basic basic) noexcept {
  static const Kernels kernels = find_all();
  return kernels[static_cast<std::size_t>(kind)][static_cast<std::size_t>(basic)];
}

}  // namespace herald::op
