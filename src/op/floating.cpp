// SPDX-License-Identifier: BSD-3-Clause
// Floating point and complex numbers. Complex products are the plain formula, without the C library's repair
// of infinities, so that they vectorise.
#include <algorithm>

#include "op/kernels.hpp"
#include "op/number.hpp"

namespace herald::op {
namespace {

template <class T>
struct SumOf {
  static T apply(T a, T b) noexcept { return a + b; }
};
template <class T>
struct ProdOf {
  static T apply(T a, T b) noexcept { return a * b; }
};
template <class T>
struct MinOf {
  static T apply(T a, T b) noexcept { return a < b ? a : b; }
};
template <class T>
struct MaxOf {
  static T apply(T a, T b) noexcept { return a > b ? a : b; }
};

// Half precision computed in float.
template <template <class> class F>
struct InFloat {
  static Half apply(Half a, Half b) noexcept {
    return {float_to_half(F<float>::apply(half_to_float(a.bits), half_to_float(b.bits)))};
  }
};

template <class T>
struct ComplexSum {
  static Complex<T> apply(Complex<T> a, Complex<T> b) noexcept { return {a.re + b.re, a.im + b.im}; }
};
template <class T>
struct ComplexProd {
  static Complex<T> apply(Complex<T> a, Complex<T> b) noexcept {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

template <template <class> class F>
struct ComplexInFloat {
  static Complex<Half> apply(Complex<Half> a, Complex<Half> b) noexcept {
    const Complex<float> r = F<float>::apply({half_to_float(a.re.bits), half_to_float(a.im.bits)},
                                             {half_to_float(b.re.bits), half_to_float(b.im.bits)});
    return {{float_to_half(r.re)}, {float_to_half(r.im)}};
  }
};

template <class T, Level kTop>
Levels real_kernel(Kind kind) noexcept {
  switch (kind) {
    case Kind::sum: return levels<T, SumOf<T>, kTop>();
    case Kind::prod: return levels<T, ProdOf<T>, kTop>();
    case Kind::min: return levels<T, MinOf<T>, kTop>();
    case Kind::max: return levels<T, MaxOf<T>, kTop>();
    default: return {};
  }
}

Levels half_kernel(Kind kind) noexcept {
  switch (kind) {
    case Kind::sum: return levels<Half, InFloat<SumOf>, Level::avx512>();
    case Kind::prod: return levels<Half, InFloat<ProdOf>, Level::avx512>();
    case Kind::min: return levels<Half, InFloat<MinOf>, Level::avx512>();
    case Kind::max: return levels<Half, InFloat<MaxOf>, Level::avx512>();
    default: return {};
  }
}

// GCC 12 fuses the multiplication and the addition of a complex product where AVX-512 is on, whatever
// -ffp-contract says, so products stop at AVX2.
template <class T, Level kTop>
Levels complex_kernel(Kind kind) noexcept {
  if (kind == Kind::sum) return levels<Complex<T>, ComplexSum<T>, kTop>();
  if (kind == Kind::prod) return levels<Complex<T>, ComplexProd<T>, std::min(kTop, Level::avx2)>();
  return {};
}

Levels complex_half_kernel(Kind kind) noexcept {
  if (kind == Kind::sum) return levels<Complex<Half>, ComplexInFloat<ComplexSum>, Level::avx512>();
  if (kind == Kind::prod) return levels<Complex<Half>, ComplexInFloat<ComplexProd>, Level::avx2>();
  return {};
}

}  // namespace

Levels find_floating(Kind kind, type::Repr repr) noexcept {
  switch (repr) {
    case type::Repr::f16: return half_kernel(kind);
    case type::Repr::f32: return real_kernel<float, Level::avx512>(kind);
    case type::Repr::f64: return real_kernel<double, Level::avx512>(kind);
    case type::Repr::fx: return real_kernel<long double, Level::base>(kind);
    case type::Repr::f128: return real_kernel<Quad, Level::base>(kind);
    case type::Repr::c16: return complex_half_kernel(kind);
    case type::Repr::c32: return complex_kernel<float, Level::avx512>(kind);
    case type::Repr::c64: return complex_kernel<double, Level::avx512>(kind);
    case type::Repr::cx: return complex_kernel<long double, Level::base>(kind);
    case type::Repr::c128: return complex_kernel<Quad, Level::base>(kind);
    default: return {};
  }
}

}  // namespace herald::op
