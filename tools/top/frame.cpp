// SPDX-License-Identifier: BSD-3-Clause
#include "top/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "watch/deadlock.hpp"

namespace herald::tools::top {
namespace {

using watch::RankView;

// Counters per second of one rank.
class Rates {
 public:
  Rates() = default;
  Rates(const RankView& before, const RankView& now) {
    const double seconds = static_cast<double>(now.counted_ns - before.counted_ns) / 1e9;
    if (before.counted_ns == 0 || seconds <= 0) return;  // no turn of the rank in between
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (now.counters[i] > before.counters[i])
        values_[i] = static_cast<double>(now.counters[i] - before.counters[i]) / seconds;
  }
  double operator[](RankCounter which) const { return values_[static_cast<std::size_t>(which)]; }
  void add(const Rates& other) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  }

 private:
  std::array<double, static_cast<std::size_t>(RankCounter::kCount)> values_{};
};

using C = RankCounter;

enum class Activity { starts, computes, communicates, polls, sends, waits, finalizes, ended };
constexpr std::size_t kActivities = 8;
constexpr std::array<std::string_view, kActivities> kNames{"starts", "computes", "talks",     "polls",
                                                           "sends",  "waits",    "finalizes", "ended"};
constexpr std::array<Colour, kActivities> kColours{Colour::plain, Colour::good, Colour::busy,
                                                   Colour::busy,  Colour::busy, Colour::waiting,
                                                   Colour::plain, Colour::plain};

Activity activity_of(const RankView& view, const Rates& rates) {
  switch (view.phase) {
    case RankPhase::starting: return Activity::starts;
    case RankPhase::finalizing: return Activity::finalizes;
    case RankPhase::ended: return Activity::ended;
    case RankPhase::running: break;
  }
  if (!view.waits.empty()) {
    const ShownWait& wait = view.waits[0];
    return wait.shown > 0 && wait.ops[0].kind == WaitedKind::send ? Activity::sends : Activity::waits;
  }
  if (!view.answered) return Activity::computes;
  const bool moved =
      rates[C::sent] + rates[C::received] + rates[C::cast_received] + rates[C::net_received] > 0;
  return moved ? Activity::communicates : Activity::polls;
}

std::string doing(const RankView& view) {
  if (view.waits.empty()) return {};
  const ShownWait& wait = view.waits[0];
  std::string text = watch::wait_text(wait) + ", " + watch::duration_text(view.read_ns - wait.since_ns);
  if (view.waits.size() > 1) text += fmt::format(" (and {} threads)", view.waits.size() - 1);
  return text;
}

struct Row {
  const RankView* view;
  Rates rates;
  Activity activity;
};

// A rank that waits and moves nothing: the call takes the place of the rates.
std::string row_text(const Row& row) {
  const Rates& r = row.rates;
  const std::string start =
      fmt::format("{:>5} {:<9}", row.view->rank, kNames[static_cast<std::size_t>(row.activity)]);
  const std::uint64_t held = row.view->counter(C::held);
  if (!row.view->waits.empty() && r[C::sent] + r[C::received] + r[C::cast_packets] + r[C::net_bytes] == 0)
    return start + " " + doing(*row.view) + (held > 0 ? fmt::format("; {} held", held) : "");
  return fmt::format("{} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>5}  {}", start,
                     short_number(r[C::sent]), short_number(r[C::sent_bytes]),
                     short_number(r[C::received_bytes]), short_number(r[C::shm_bytes] + r[C::copied_bytes]),
                     short_number(r[C::net_bytes]), short_number(r[C::cast_packets]),
                     short_number(r[C::retransmitted] + r[C::cast_repaired]),
                     short_number(static_cast<double>(held)), doing(*row.view));
}

constexpr std::string_view kTitles =
    " RANK STATE      MSG/S  OUT/S   IN/S    SHM    NET   CAST RESENT  HELD  WAITS FOR";

std::string host_text(const std::string& host, const std::vector<const Row*>& rows) {
  std::array<int, kActivities> counts{};
  for (const Row* row : rows) ++counts[static_cast<std::size_t>(row->activity)];
  std::string text = fmt::format("{}: {} {}", host, rows.size(), rows.size() == 1 ? "rank" : "ranks");
  for (std::size_t i = 0; i < kActivities; ++i)
    if (counts[i] > 0) text += fmt::format(", {} {}", counts[i], kNames[i]);
  return text;
}

void add_paths(const Rates& all, std::vector<Line>& out) {
  const auto n = [&](RankCounter which) { return short_number(all[which]); };
  out.push_back({fmt::format("shm    sent {} packets/s, {}B/s; long messages copied {}B/s", n(C::shm_packets),
                             n(C::shm_bytes), n(C::copied_bytes))});
  out.push_back(
      {fmt::format("net    sent {} packets/s, {}B/s; received {} packets/s, {}B/s; retransmitted {}/s",
                   n(C::net_packets), n(C::net_bytes), n(C::net_received), n(C::net_received_bytes),
                   n(C::retransmitted)),
       all[C::retransmitted] > 0 ? Colour::bad : Colour::plain});
  out.push_back({fmt::format("lanes  cast {} packets/s; received {} packets/s; missed {}/s; repaired {}/s",
                             n(C::cast_packets), n(C::cast_received), n(C::cast_missed), n(C::cast_repaired)),
                 all[C::cast_missed] + all[C::cast_repaired] > 0 ? Colour::bad : Colour::plain});
}

}  // namespace

std::string short_number(double value) {
  if (value <= 0) return "0";
  constexpr std::array<const char*, 5> kUnits{"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0 && value >= 0.95) return fmt::format("{:.0f}", value);
  return value < 9.95 ? fmt::format("{:.1f}{}", value, kUnits[unit])
                      : fmt::format("{:.0f}{}", value, kUnits[unit]);
}

Frame make_frame(const std::vector<RankView>& before, const std::vector<RankView>& now,
                 const std::vector<std::string>& silent, const std::string& clock) {
  Frame frame;
  if (now.empty()) return frame;
  std::map<int, const RankView*> last;
  for (const RankView& view : before) last[view.rank] = &view;
  std::vector<Row> rows;
  Rates all;
  for (const RankView& view : now) {
    const auto old = last.find(view.rank);
    const Rates rates = old != last.end() ? Rates(*old->second, view) : Rates();
    all.add(rates);
    rows.push_back({&view, rates, activity_of(view, rates)});
  }
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Row*>> hosts;
  for (const Row& row : rows) {
    if (hosts.count(row.view->host) == 0) order.push_back(row.view->host);
    hosts[row.view->host].push_back(&row);
  }
  const auto size = static_cast<std::size_t>(now[0].size);
  frame.head.push_back({fmt::format("job {}: {} ranks on {} {}{}", now[0].job, size, order.size(),
                                    order.size() == 1 ? "host" : "hosts", clock),
                        Colour::title});
  add_paths(all, frame.head);
  if (now.size() < size)
    frame.head.push_back({fmt::format("{} of {} ranks are seen from this host", now.size(), size)});
  for (const std::string& host : silent) frame.head.push_back({host + " does not answer", Colour::bad});
  for (const std::string& text : watch::find_deadlocks(now)) frame.head.push_back({text, Colour::bad});
  frame.head.push_back({std::string(kTitles), Colour::title});
  for (const std::string& host : order) {
    frame.ranks.push_back({host_text(host, hosts[host]), Colour::title});
    for (const Row* row : hosts[host])
      frame.ranks.push_back({row_text(*row), kColours[static_cast<std::size_t>(row->activity)]});
  }
  return frame;
}

}  // namespace herald::tools::top
