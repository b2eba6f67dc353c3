// SPDX-License-Identifier: BSD-3-Clause
// op/kernels.hpp: one loop for all kernels, compiled for several levels of vector instructions.
// The level is chosen once (op.cpp), without ifuncs, which sanitizers and some C libraries do not support.
#pragma once
#include <cstddef>

#include "op/op.hpp"

namespace herald::op {

enum class Level : std::uint8_t { base, avx2, avx512 };

// Null where a level does not exist for this processor family or makes no difference.
struct Levels {
  Kernel base = nullptr, avx2 = nullptr, avx512 = nullptr;
};

#if defined(__x86_64__)
#define HERALD_OP_AVX2 [[gnu::target("avx2")]]
#define HERALD_OP_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]]
#define HERALD_OP_HAS_LEVELS 1
#else
#define HERALD_OP_AVX2
#define HERALD_OP_AVX512
#define HERALD_OP_HAS_LEVELS 0
#endif

// F has `static T apply(T in, T inout)`.
template <class T, class F>
struct Loop {
  [[gnu::always_inline]] static inline void body(const void* in, void* inout, std::size_t count) noexcept {
    const T* __restrict a = static_cast<const T*>(in);
    T* __restrict b = static_cast<T*>(inout);
    for (std::size_t i = 0; i < count; ++i) b[i] = F::apply(a[i], b[i]);
  }
  static void base(const void* in, void* inout, std::size_t count) { body(in, inout, count); }
  HERALD_OP_AVX2 static void avx2(const void* in, void* inout, std::size_t count) { body(in, inout, count); }
  HERALD_OP_AVX512 static void avx512(const void* in, void* inout, std::size_t count) {
    body(in, inout, count);
  }
};

// `kTop` is the highest level that is faster than the one below.
template <class T, class F, Level kTop>
constexpr Levels levels() noexcept {
  Levels all{Loop<T, F>::base, nullptr, nullptr};
#if HERALD_OP_HAS_LEVELS
  if constexpr (kTop >= Level::avx2) all.avx2 = Loop<T, F>::avx2;
  if constexpr (kTop >= Level::avx512) all.avx512 = Loop<T, F>::avx512;
#endif
  return all;
}

// The kernels by representation; op.cpp decides whether MPI allows the reduction.
Levels find_integer(Kind kind, type::Repr repr) noexcept;   // sum prod min max band bor bxor land lor lxor
Levels find_floating(Kind kind, type::Repr repr) noexcept;  // sum prod min max; complex: sum prod
Levels find_pair(Kind kind, type::Basic basic) noexcept;    // minloc maxloc replace
Levels find_replace(int bytes) noexcept;

// As find(), for tests: the kernel of one level, null if there is none.
Kernel find_at(Level level, Kind kind, type::Basic basic) noexcept;
bool runs_here(Level level) noexcept;

}  // namespace herald::op
