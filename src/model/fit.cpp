// SPDX-License-Identifier: BSD-3-Clause
#include "model/fit.hpp"

#include <algorithm>
#include <cmath>

namespace herald::model {
namespace {

double interpolate(const Point& a, const Point& b, double bytes) noexcept {
  return a.ns + (b.ns - a.ns) * (bytes - a.bytes) / (b.bytes - a.bytes);
}

// The point between two knots that the line between them describes worst; 0 if all are within the share.
std::size_t worst_between(std::span<const Point> points, std::size_t begin, std::size_t end, double share,
                          double& error) noexcept {
  std::size_t worst = 0;
  error = share;
  for (std::size_t i = begin + 1; i < end; ++i) {
    const double guess = interpolate(points[begin], points[end], points[i].bytes);
    const double mine = std::abs(guess - points[i].ns) / std::max(points[i].ns, 1.0);
    if (mine <= error) continue;
    error = mine;
    worst = i;
  }
  return worst;
}

}  // namespace

Point point_of(double bytes, std::span<double> runs) noexcept {
  if (runs.empty()) return {bytes, 0, 0};
  std::sort(runs.begin(), runs.end());
  const std::size_t n = runs.size();
  const double value = runs[n / 4];
  return {bytes, value, std::min(value, runs[n / 2] - value)};
}

Function fit(std::span<const Point> points, double share) noexcept {
  Function function;
  if (points.empty()) return function;
  std::vector<std::size_t> knots = {0};
  if (points.size() > 1) knots.push_back(points.size() - 1);
  while (knots.size() < Function::kMostKnots) {
    std::size_t best = 0;
    double largest = 0;
    for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
      double error = 0;
      const std::size_t worst = worst_between(points, knots[i], knots[i + 1], share, error);
      if (worst != 0 && error > largest) largest = error, best = worst;
    }
    if (best == 0) break;
    knots.insert(std::lower_bound(knots.begin(), knots.end(), best), best);
  }
  for (const std::size_t i : knots) {
    // The interval covers the scatter of the runs, and the points that the line misses nearby.
    double spread = std::max(points[i].spread_ns, points[i].ns * share);
    for (std::size_t j = i > 0 ? i - 1 : 0; j <= std::min(points.size() - 1, i + 1); ++j)
      spread =
          std::max(spread, points[i].ns * std::min(1.0, points[j].spread_ns / std::max(points[j].ns, 1.0)));
    function.add({points[i].bytes, points[i].ns, std::min(spread, points[i].ns)});
  }
  return function;
}

Function fit_latency(std::span<const Point> round_trips, const Function& send_overhead,
                     const Function& recv_overhead, const Function& user_recv) noexcept {
  std::vector<Point> points;
  for (const Point& trip : round_trips) {
    const double processors =
        send_overhead.at(trip.bytes) + recv_overhead.at(trip.bytes) + user_recv.at(trip.bytes);
    points.push_back({trip.bytes, std::max(1.0, trip.ns / 2 - processors), trip.spread_ns / 2});
  }
  return fit(points);
}

Buffer fit_buffer(std::span<const Flood> floods) noexcept {
  double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (const Flood& flood : floods) {
    if (flood.items <= 0 || flood.arrived >= 0.999) continue;
    const double x = 1 / flood.items;
    n += 1, sum_x += x, sum_y += flood.arrived, sum_xx += x * x, sum_xy += x * flood.arrived;
  }
  Buffer buffer;
  const double below = n * sum_xx - sum_x * sum_x;
  if (n < 2 || below <= 0) return buffer;
  buffer.items = (n * sum_xy - sum_x * sum_y) / below;
  buffer.rate = (sum_y - buffer.items * sum_x) / n;
  double misses = 0;
  for (const Flood& flood : floods)
    if (flood.items > 0 && flood.arrived < 0.999) {
      const double miss = (flood.arrived - buffer.rate) * flood.items - buffer.items;
      misses += miss * miss;
    }
  buffer.spread_items = std::sqrt(misses / n);
  buffer.found = buffer.items > 0;
  return buffer;
}

Buffer fit_buffer(std::span<const Flood> floods, double rate) noexcept {
  Buffer buffer;
  buffer.rate = rate;
  double most = 0;
  for (const Flood& flood : floods) {
    if (flood.items <= 0 || flood.arrived >= 0.999) continue;
    const double items = std::max(0.0, (flood.arrived - rate) * flood.items);
    buffer.items = buffer.found ? std::min(buffer.items, items) : items;
    most = std::max(most, items);
    buffer.found = true;
  }
  buffer.spread_items = most - buffer.items;
  return buffer;
}

Window gather_window(double send_gap, double recv_gap, double buffer, double items, int senders) noexcept {
  Window window;
  const double ratio = send_gap / std::max(recv_gap, 1e-9);
  window.lower = std::clamp(static_cast<int>(std::ceil(ratio - 1e-6)), 1, std::max(1, senders));
  window.upper = window.lower;
  if (items <= 0 || buffer >= items * senders)
    window.upper = senders;
  else
    window.upper = std::clamp(static_cast<int>(std::floor(ratio + buffer / items)), window.lower, senders);
  window.upper = std::max(1, window.upper);
  // The last group must fill the link as well, unless there is none.
  window.chosen = window.lower;
  for (int width = window.lower; width <= window.upper; ++width) {
    const int rest = senders % width;
    if (rest == 0 || rest >= window.lower) window.chosen = width;
  }
  return window;
}

}  // namespace herald::model
