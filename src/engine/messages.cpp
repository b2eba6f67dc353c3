// SPDX-License-Identifier: BSD-3-Clause
#include "engine/messages.hpp"

#include "engine/engine.hpp"

namespace herald::engine {
namespace {

constexpr int kPolledReceives = 16;  // without a turn for other peers
constexpr int kReceivePolls = 100;   // about two microseconds

}  // namespace

void Messages::start(p2p::SendOp& op) noexcept {
  if (local_.reaches(op.to) && local_.try_send(op)) {
    if (!op.done) transport_.complete();
    return;
  }
  const p2p::PeerId to = op.to;
  const std::int32_t lane = op.lane;
  const bool waits = op.bundled, stays = op.at_once;
  core_.start(op);
  if (lane < 0)
    (void)transport_.pump(to);
  else if (!waits)
    (void)transport_.pump_lane(lane);
  if (stays && core_.direct().busy() && !engine_.is_in_turn()) (void)transport_.move_direct();
  transport_.complete();
}

void Messages::start(p2p::RecvOp& op) noexcept {
  if (!engine_.is_in_turn() && core_.ads().may_be_advertised(op)) (void)local_.drain_from(op.awaited);
  core_.start(op);
  send_answers();
}

void Messages::send_answers() noexcept {
  if (core_.wants_to_send()) (void)transport_.pump_all();
  transport_.complete();
}

void Messages::prepare(p2p::PeerId peer, bool sends) noexcept {
  if (core_.is_gone(peer)) return;
  if (!local_.reaches(peer)) {
    transport_.introduce(peer);
    (void)engine_.progress();
  } else if (sends) {
    (void)local_.pump(peer, true);
  }
}

void Messages::send_posted() noexcept {
  if (!engine_.is_in_turn()) send_answers();
}

void Messages::start_and_poll(p2p::RecvOp& op) noexcept {
  if (!engine_.is_quiet() || !receive_at_once(op)) start(op);
}

bool Messages::receive_at_once(p2p::RecvOp& op) noexcept {
  if (++polled_receives_ > kPolledReceives) {
    polled_receives_ = 0;
    (void)engine_.progress();
  }
  if (!local_.try_receive(op, engine_.may_spin() ? kReceivePolls : 1)) return false;
  if (core_.wants_to_send()) (void)transport_.pump_all();
  if (!op.done) transport_.complete();
  return true;
}

void Messages::start_matched(p2p::RecvOp& op, p2p::Message* message) noexcept {
  core_.start_matched(op, message);
  send_answers();
}

bool Messages::probe(std::uint64_t context, std::int32_t source, std::int32_t tag,
                     p2p::Found& found) noexcept {
  return core_.probe(context, source, tag, found) ||
         (engine_.progress() && core_.probe(context, source, tag, found));
}

bool Messages::take(std::uint64_t context, std::int32_t source, std::int32_t tag,
                    p2p::Found& found) noexcept {
  return core_.matcher().take(context, source, tag, found) ||
         (engine_.progress() && core_.matcher().take(context, source, tag, found));
}

void Messages::cancel(p2p::SendOp& op) noexcept {
  const p2p::PeerId to = op.to;
  core_.cancel(op);
  (void)transport_.pump(to);
  transport_.complete();
  // Question and answer are both ours: one turn each, so that the next test sees the result.
  if (to != engine_.peers().rank()) return;
  (void)engine_.progress();
  (void)engine_.progress();
}

void Messages::cancel(p2p::RecvOp& op) noexcept {
  core_.cancel(op);
  transport_.complete();
}

std::uint64_t Messages::forget_context(std::uint64_t context) noexcept {
  const std::uint64_t dropped = core_.forget_context(context);
  send_answers();
  return dropped;
}

}  // namespace herald::engine
