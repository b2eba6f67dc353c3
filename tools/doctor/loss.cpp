// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/loss.hpp"

#include <algorithm>
#include <cstdio>

namespace herald::tools::doctor {
namespace {

constexpr std::uint32_t kMostProbes = 5000, kLeastProbes = 300, kProbesOfHost = 30'000;
constexpr std::size_t kOutstanding = 96;  // of all peers
constexpr std::int64_t kGivenUp =
    200'000'000;                        // ns until a probe without a reply stops counting as outstanding
constexpr std::int64_t kLeastLost = 5;  // datagrams: fewer may be chance
constexpr double kReported = 0.0005;    // a loss of 0.1 % is measured as at least this

struct Total {
  std::int64_t sent = 0, lost = 0;
  double share() const { return sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(sent); }
};

}  // namespace

LossMeter::LossMeter(const std::vector<int>& peers) {
  for (const int peer : peers) peers_[peer];
  if (peers.empty()) return;
  const auto count = static_cast<std::uint32_t>(peers.size());
  most_ = std::clamp(kProbesOfHost / count, kLeastProbes, kMostProbes);
  window_ = std::max<std::size_t>(2, std::min<std::size_t>(16, kOutstanding / count));
}

std::optional<std::uint32_t> LossMeter::next_probe(int peer, std::int64_t now_ns) {
  Peer& each = peers_[peer];
  while (!each.outstanding.empty() && now_ns - each.outstanding.front().second > kGivenUp)
    each.outstanding.pop_front();
  if (each.sent == most_ || each.outstanding.size() >= window_) return {};
  each.outstanding.emplace_back(each.sent, now_ns);
  ++each.out;
  return each.sent++;
}

void LossMeter::on_probe(int peer) {
  Peer& each = peers_[peer];
  ++each.in;
  if (replies_) ++each.out;
}

void LossMeter::on_reply(int peer, std::uint32_t number) {
  Peer& each = peers_[peer];
  ++each.in;
  const auto found = std::find_if(each.outstanding.begin(), each.outstanding.end(),
                                  [&](const auto& one) { return one.first == number; });
  if (found != each.outstanding.end()) each.outstanding.erase(found);
}

bool LossMeter::is_complete() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [this](const auto& one) { return one.second.sent == most_; });
}

json LossMeter::results() const {
  json list = json::array();
  for (const auto& [peer, each] : peers_)
    list.push_back({{"to", peer}, {"sent", each.out}, {"received", each.in}});
  return list;
}

std::vector<LossPlace> find_loss(std::vector<PairLoss> pairs) {
  std::vector<LossPlace> places;
  for (;;) {
    std::map<std::pair<std::string, bool>, Total> totals;  // by host and whether it receives
    for (const PairLoss& pair : pairs)
      for (const bool receives : {true, false}) {
        Total& total = totals[{receives ? pair.to : pair.from, receives}];
        total.sent += pair.sent;
        total.lost += pair.lost;
      }
    const auto worst = std::max_element(totals.begin(), totals.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.share(), a.first.second) < std::pair(b.second.share(), b.first.second);
    });
    if (worst == totals.end() || worst->second.lost < kLeastLost || worst->second.share() < kReported)
      return places;
    LossPlace place{worst->first.first, worst->first.second, {}, 0, 0};
    for (PairLoss& pair : pairs) {
      if (pair.lost == 0 || (place.receives ? pair.to : pair.from) != place.host) continue;
      place.peers.insert(place.receives ? pair.from : pair.to);
      place.sent += pair.sent;
      place.lost += pair.lost;
      pair.lost = 0;
    }
    places.push_back(std::move(place));
  }
}

std::string percent_text(std::int64_t lost, std::int64_t sent) {
  char text[32];
  const double percent =
      100.0 * static_cast<double>(lost) / static_cast<double>(std::max<std::int64_t>(1, sent));
  std::snprintf(text, sizeof text, percent < 1 ? "%.2f %%" : "%.1f %%", percent);
  return text;
}

}  // namespace herald::tools::doctor
