// SPDX-License-Identifier: BSD-3-Clause
// model/fit.hpp: parameters from what was measured (section 3.2 of the paper). Pure: the programs that
// measure hand in their figures.
#pragma once
#include <span>
#include <vector>

#include "model/function.hpp"

namespace herald::model {

// All runs of one measurement at one length.
struct Point {
  double bytes = 0, ns = 0;
  double spread_ns = 0;  // to the median of the runs
};

// The lower quartile of runs, because whatever else a host does only adds time, and its distance from the
// median. `runs` is sorted in place.
Point point_of(double bytes, std::span<double> runs) noexcept;

// As few knots as describe all points within `share` of their values, at points that were measured; at most
// Function::kMostKnots. Points ascend in bytes.
Function fit(std::span<const Point> points, double share = 0.03) noexcept;

// L from half a round trip: 2 (O_s + L + O_r + U_r).
Function fit_latency(std::span<const Point> round_trips, const Function& send_overhead,
                     const Function& recv_overhead, const Function& user_recv) noexcept;

// B_L by equation 4: floods of `items` at a port, of which a share arrived: share = D/A + B/items.
struct Flood {
  double items = 0, arrived = 0;
};
struct Buffer {
  double items = 0;  // B
  double rate = 1;   // D/A: departure over arrival
  double spread_items = 0;
  bool found = false;  // false: nothing was dropped
};
Buffer fit_buffer(std::span<const Flood> floods) noexcept;
// The same where D/A is known, from the flood in which the senders were most together: hosts that do other
// things send less at a time, and more arrives.
Buffer fit_buffer(std::span<const Flood> floods, double rate) noexcept;

// The windows of a gather from `senders` hosts that send `items` each through a buffer of `buffer` items
// (equations 5, 6 and 7): at least `lower` senders keep the link full, at most `upper` cause no loss.
struct Window {
  int lower = 1, upper = 1, chosen = 1;
};
Window gather_window(double send_gap, double recv_gap, double buffer, double items, int senders) noexcept;

}  // namespace herald::model
