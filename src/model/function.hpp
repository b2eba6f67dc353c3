// SPDX-License-Identifier: BSD-3-Clause
// model/function.hpp: the cost of a message as a function of its length: piecewise linear, with an interval.
// Between knots the value is interpolated; beyond the last knot the last slope continues.
#pragma once
#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

namespace herald::model {

struct Knot {
  double bytes = 0, ns = 0;
  double spread_ns = 0;  // the true value lies within ns +- spread_ns, as far as it was measured
  bool operator==(const Knot&) const = default;
};

class Function {
 public:
  static constexpr std::size_t kMostKnots = 8;

  constexpr Function() noexcept = default;
  // Ascending in bytes; knots beyond kMostKnots are dropped.
  constexpr Function(std::initializer_list<Knot> knots) noexcept {
    for (const Knot& knot : knots) add(knot);
  }
  // start_ns + byte_ns * bytes, known within a share of its value.
  static constexpr Function line(double start_ns, double byte_ns, double share = 0.1) noexcept {
    constexpr double kFar = 1 << 20;
    const double far_ns = start_ns + byte_ns * kFar;
    return {{0, start_ns, start_ns * share}, {kFar, far_ns, far_ns * share}};
  }

  constexpr bool add(const Knot& knot) noexcept {
    if (count_ == kMostKnots || (count_ > 0 && knot.bytes <= knots_[count_ - 1].bytes)) return false;
    knots_[count_++] = knot;
    return true;
  }
  constexpr std::span<const Knot> knots() const noexcept { return {knots_.data(), count_}; }
  constexpr bool empty() const noexcept { return count_ == 0; }

  constexpr double at(double bytes) const noexcept { return value(bytes, &Knot::ns); }
  constexpr double spread_at(double bytes) const noexcept { return value(bytes, &Knot::spread_ns); }
  // Of one further byte, for messages of this length.
  constexpr double slope_at(double bytes) const noexcept {
    if (count_ < 2) return 0;
    const std::size_t i = segment(bytes);
    return (knots_[i + 1].ns - knots_[i].ns) / (knots_[i + 1].bytes - knots_[i].bytes);
  }
  // The lower (-1) or upper (+1) end of the interval, as a function of its own.
  constexpr Function shifted(double by) const noexcept {
    Function moved = *this;
    for (std::size_t i = 0; i < count_; ++i)
      moved.knots_[i].ns = std::max(0.0, knots_[i].ns + by * knots_[i].spread_ns);
    return moved;
  }
  bool operator==(const Function& other) const noexcept {
    return std::equal(knots().begin(), knots().end(), other.knots().begin(), other.knots().end());
  }

 private:
  constexpr std::size_t segment(double bytes) const noexcept {
    std::size_t i = 0;
    while (i + 2 < count_ && bytes >= knots_[i + 1].bytes) ++i;
    return i;
  }
  constexpr double value(double bytes, double Knot::*of) const noexcept {
    if (count_ == 0) return 0;
    if (count_ == 1) return knots_[0].*of;
    const Knot &a = knots_[segment(bytes)], &b = knots_[segment(bytes) + 1];
    return std::max(0.0, a.*of + (b.*of - a.*of) * (bytes - a.bytes) / (b.bytes - a.bytes));
  }

  std::array<Knot, kMostKnots> knots_{};
  std::size_t count_ = 0;
};

}  // namespace herald::model
