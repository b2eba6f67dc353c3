// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane.hpp"

#include <cstring>

namespace herald::rel {
namespace {

constexpr std::size_t kMaxRows = 32;  // acks that ride on one cast

}  // namespace

Lane::Lane(LaneContext& context, std::uint64_t name, std::span<const PeerId> members) noexcept
    : context_(context),
      info_(name, members, context.config),
      audience_(context, info_, source_),
      source_(context, *this, info_, audience_),
      receivers_(members.size()) {}

void Lane::set_address_index(std::uint8_t index) noexcept {
  if (index <= info_.address_index || index > Lanes::kLastAddressIndex) return;
  info_.address_index = index;
  ++context_.counters.address_changes;
  context_.listener.call([&](LaneListener& listener) { listener.address_changed(info_.id, index); });
}

LaneReceiver& Lane::receiver(std::uint32_t place) noexcept {
  auto& receiver = receivers_[place];
  if (receiver == nullptr)
    receiver = std::make_unique<LaneReceiver>(context_, info_, audience_, static_cast<std::uint16_t>(place));
  return *receiver;
}

FusedMember& Lane::fused_member() noexcept {
  if (fused_member_ == nullptr) fused_member_ = std::make_unique<FusedMember>(context_, info_, audience_);
  return *fused_member_;
}

FusedRoot& Lane::fused_root() noexcept {
  if (fused_root_ == nullptr) fused_root_ = std::make_unique<FusedRoot>(context_, info_, audience_, source_);
  return *fused_root_;
}

bool Lane::on_datagram(Instant now, bool by_group, const wire::DatagramView& view, bool early) noexcept {
  const std::int32_t place = info_.place_of(view.from);
  if (place < 0 || place == info_.me) return false;  // a stranger, or our own multicast
  const auto from = static_cast<std::uint32_t>(place);
  audience_[from].asked = false;
  if (!info_.draining) set_address_index((view.flags & wire::kFlagAddress) >> wire::kAddressShift);
  if (dispatch(now, by_group, from, view) && !early) context_.on_news(now, info_.members[from]);
  return info_.draining && !by_group &&
         (view.kind == wire::DatagramKind::cast || view.kind == wire::DatagramKind::cast_ask ||
          view.kind == wire::DatagramKind::result);
}

void Lane::on_train(Instant now, std::span<const wire::OpenedDatagram> train) noexcept {
  const std::int32_t place = info_.place_of(train.front().view.from);
  if (place < 0 || place == info_.me || info_.draining) return;
  const auto from = static_cast<std::uint32_t>(place);
  audience_[from].asked = false;
  LaneReceiver& to = receiver(from);
  bool news = false;
  for (const wire::OpenedDatagram& one : train) {
    set_address_index((one.view.flags & wire::kFlagAddress) >> wire::kAddressShift);
    const wire::CastView cast = wire::view_cast(one.view.flags, one.view.body);
    if (!to.on_cast(now, true, one.view, cast)) continue;
    news = true;
    if (!cast.rows.empty()) source_.on_ack_rows(now, from, cast.rows);
  }
  to.settle(now);
  if (news) context_.on_news(now, info_.members[from]);
}

// A draining lane has no receivers, and takes no more casts and results. True: the datagram is news. Acks
// that ride on a cast count once: with a copy of it they may be old.
bool Lane::dispatch(Instant now, bool by_group, std::uint32_t from, const wire::DatagramView& view) noexcept {
  const bool open = !info_.draining;
  switch (view.kind) {
    case wire::DatagramKind::cast: {
      const wire::CastView cast = wire::view_cast(view.flags, view.body);
      if (!open) return !cast.rows.empty() && source_.on_ack_rows(now, from, cast.rows);
      LaneReceiver& to = receiver(from);
      const bool news = to.on_cast(now, by_group, view, cast);
      if (news && !cast.rows.empty()) source_.on_ack_rows(now, from, cast.rows);
      to.settle(now);
      return news;
    }
    case wire::DatagramKind::cast_ask: return open && receiver(from).on_ask(now, by_group, view);
    case wire::DatagramKind::cast_ack: return on_cast_ack(now, from, view);
    case wire::DatagramKind::cast_nak: return source_.on_nak(now, from, view);
    case wire::DatagramKind::contribution:
    case wire::DatagramKind::compact_contribution: return on_contribution(now, from, view);
    case wire::DatagramKind::result:
      return open && from == 0 && fused_member_ != nullptr && fused_member_->on_result(now, by_group, view);
    case wire::DatagramKind::contribution_ack:
      return open && from == 0 && fused_member_ != nullptr && fused_member_->on_contribution_ack(now, view);
    case wire::DatagramKind::fragment:
    case wire::DatagramKind::data:
    case wire::DatagramKind::ack:
    case wire::DatagramKind::probe:
    case wire::DatagramKind::probe_reply: break;  // refused before
  }
  return false;
}

// To us as the source, or as the parent of its sender in the tree of another source.
bool Lane::on_cast_ack(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept {
  const auto& ack = wire::part_at<wire::CastAck>(view.body);
  if (ack.source == static_cast<std::uint32_t>(context_.config.me)) return source_.on_ack(now, place, view);
  const std::int32_t source = info_.place_of(ack.source);
  if (!info_.tree || info_.draining || source < 0 || source == info_.me ||
      source == static_cast<std::int32_t>(place))
    return false;
  const LaneTree tree = info_.tree_of(static_cast<std::uint32_t>(source));
  if (tree.spot(place) == 0 || tree.parent(place) != info_.me) return false;
  receiver(static_cast<std::uint32_t>(source)).on_child_ack(now, place, ack);
  return false;  // a copy of an ack that came before this lane was open would advance, too
}

bool Lane::on_contribution(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept {
  if (info_.me != 0 || info_.members.size() > wire::kMaxFusedMembers) return false;
  if (audience_[place].is_gone() || (info_.draining && fused_root_ == nullptr)) return false;
  const bool news = fused_root().on_contribution(now, place, view);
  close_if_drained();
  return news;
}

std::size_t Lane::write_ack_rows(std::byte* at, std::size_t most) noexcept {
  std::size_t rows = 0;
  for (const auto& receiver : receivers_) {
    if ((rows + 1) * sizeof(wire::AckRow) + 1 > most || rows == kMaxRows) break;
    wire::AckRow row;
    if (receiver == nullptr || !receiver->write_ack_row(row)) continue;
    std::memcpy(at + rows * sizeof row, &row, sizeof row);
    ++rows;
  }
  if (rows == 0) return 0;
  at[rows * sizeof(wire::AckRow)] = static_cast<std::byte>(rows);
  return rows * sizeof(wire::AckRow) + 1;
}

void Lane::lose_member(Instant now, std::uint32_t place) noexcept {
  audience_[place].silent = true;
  if (receivers_[place] != nullptr) receivers_[place]->on_source_lost();
  source_.remove_member(now, place);
}

void Lane::on_member_gone(std::uint32_t place) noexcept {
  if (fused_root_ != nullptr) fused_root_->on_member_gone(place);
}

void Lane::on_answer(Instant now, std::uint32_t place) noexcept {
  if (audience_[place].is_gone()) return;
  source_.on_answer(now);
  if (receivers_[place] != nullptr) receivers_[place]->on_answer(now);
  if (fused_member_ != nullptr && place == 0) fused_member_->on_answer(now);
  if (fused_root_ != nullptr) fused_root_->on_answer(now);
}

void Lane::redeliver(Instant now) noexcept {
  for (const auto& receiver : receivers_)
    if (receiver != nullptr && receiver->has_refused()) receiver->redeliver(now);
}

void Lane::shrink() noexcept {
  source_.shrink();
  for (const auto& receiver : receivers_)
    if (receiver != nullptr) receiver->shrink();
}

bool Lane::is_settled() const noexcept {
  if (fused_root_ != nullptr) return fused_root_->is_settled();
  return fused_member_ == nullptr || !fused_member_->owes_ack() || audience_[0].is_gone();
}

bool Lane::is_flushed() const noexcept { return source_.is_empty() && is_settled(); }

void Lane::close_if_drained() noexcept {
  if (info_.draining && is_flushed()) info_.closing = context_.some_closing = true;
}

void Lane::close_receivers(ClosedLanes& closed) noexcept {
  for (auto& receiver : receivers_) {
    if (receiver == nullptr) continue;
    const auto place = static_cast<std::size_t>(&receiver - receivers_.data());
    if (receiver->owes_ack()) closed.reply({info_.name, info_.members[place], true});
    receiver->close();
    receiver.reset();
  }
  if (fused_member_ != nullptr && fused_member_->owes_ack())
    closed.reply({info_.name, info_.members.front(), true});
}

bool Lane::close() noexcept {
  const bool unsettled = fused_root_ != nullptr && !fused_root_->is_settled();
  if ((!source_.is_empty() || unsettled) && audience_.live() != 0) {
    info_.draining = true;
    info_.closing = false;
    return false;
  }
  source_.close();
  if (fused_member_ != nullptr) context_.scheduler.remove(*fused_member_);
  if (fused_root_ != nullptr) context_.scheduler.remove(*fused_root_);
  return true;
}

}  // namespace herald::rel
