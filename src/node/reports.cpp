// SPDX-License-Identifier: BSD-3-Clause
#include "node/reports.hpp"

#include <utility>

namespace herald::node {

// Members of a sub-lane may not have joined yet: they are not reported.
void Reports::take_news(Instant now) noexcept {
  using Kind = NodeEvent::Kind;
  for (const p2p::LaneCarrier::News& news : carrier_.take_news()) {
    if (registry_.is_sub_lane(news.lane)) continue;
    monitor_.on_reachability(now, news.lane, news.member, news.hears);
    events_.push_back({news.hears ? Kind::multicast_restored : Kind::multicast_lost, news.member});
  }
  for (const p2p::LaneCarrier::Loss& loss : carrier_.take_losses()) {
    monitor_.on_loss(me_, loss.percent);
    events_.push_back({Kind::multicast_lossy, loss.source, loss.percent});
  }
}

std::string Reports::update(Instant now, const group::MulticastReport::HostOf& host_of,
                            bool at_end) noexcept {
  if (carrier_.has_news()) take_news(now);
  for (const PeerId peer : std::exchange(no_udp_, {})) {
    if (me_ == reporter_)
      udp_report_.add(now, me_, peer);
    else if (me_ < peer || peer == reporter_)
      notices_.send(reporter_, {me_, peer, wire::kNoticeNoUdp, 0});
  }
  for (const group::Notice& notice : monitor_.take_due(now, at_end)) {
    const std::uint32_t what = notice.loses == 0 ? wire::kNoticeUnreachable : wire::kNoticeLoses;
    if (me_ == reporter_)
      report_.add(now, me_, notice);
    else
      notices_.send(reporter_, {me_, notice.member, what, notice.loses});
  }
  for (const p2p::Notice& notice : notices_.take()) {
    if (notice.what == wire::kNoticeNoUdp)
      udp_report_.add(now, notice.from, notice.member);
    else
      report_.add(now, notice.from,
                  {notice.member, notice.what == wire::kNoticeUnreachable ? 0 : std::max(notice.amount, 1u)});
  }
  return report_.is_due(now, at_end) ? report_.take_line(host_of) : std::string();
}

}  // namespace herald::node
