// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/fused_ops.hpp"

#include <algorithm>

namespace herald::p2p {

// Contiguous data is not copied. A call that does not match the others may have more data than fits: its
// beginning is sent, and the receiver sees that the length is wrong.
std::span<const std::byte> FusedOps::packed(type::Cursor& data, std::size_t most) noexcept {
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(data.remaining(), most));
  if (data.contiguous()) return {static_cast<const std::byte*>(data.contiguous_at()), bytes};
  return {room_.data(), data.pack(room_.data(), bytes)};
}

void FusedOps::start(Instant now, FusedOp& op) noexcept {
  op.left = false;
  if (op.step == FusedStep::announce) {
    lanes_.announce(now, op.lane, op.number, packed(op.data, wire::kMaxResult), op.incomplete);
    return done_.finish(op, Status::ok);
  }
  if (!attempt(op)) ops_.push_back(&op);
}

bool FusedOps::contribute(FusedOp& op) noexcept {
  std::span<const std::byte> bytes;
  const rel::Lanes::FusedState state = lanes_.result(op.lane, op.number, bytes);
  if (state == rel::Lanes::FusedState::complete) {
    const bool fits = bytes.size() == op.into.remaining();
    op.into.unpack(bytes.data(), bytes.size());
    lanes_.take_result(op.lane, op.number);
    done_.finish(op, fits ? Status::ok : Status::truncated);
    return true;
  }
  if (state == rel::Lanes::FusedState::lost) {
    lanes_.take_result(op.lane, op.number);
    done_.finish(op, Status::peer_lost);
    return true;
  }
  if (!op.left)
    op.left = lanes_.contribute(op.lane, op.number, packed(op.data, wire::kMaxContribution), op.incomplete);
  return false;
}

bool FusedOps::gather(FusedOp& op) noexcept {
  const rel::Lanes::FusedState state = lanes_.gather(op.lane, op.number);
  if (state == rel::Lanes::FusedState::pending) return false;
  Status status = state == rel::Lanes::FusedState::complete ? Status::ok : Status::peer_lost;
  const std::uint64_t each = op.data.total() / op.members;
  for (std::uint32_t place = 1; place < op.members; ++place) {
    const std::span<const std::byte> part = lanes_.contribution(op.lane, op.number, place);
    if (part.size() != each && status == Status::ok) status = Status::truncated;
    if (part.empty()) continue;
    op.data.seek(each * place);
    op.data.unpack(part.data(), std::min<std::size_t>(part.size(), each));
  }
  done_.finish(op, status);
  return true;
}

bool FusedOps::attempt(FusedOp& op) noexcept {
  return op.step == FusedStep::contribute ? contribute(op) : gather(op);
}

// Again after each success: an operation that finishes makes room for a later one, which may come first here.
bool FusedOps::look() noexcept {
  bool some = false;
  while (look_once()) some = true;
  return some;
}

bool FusedOps::look_once() noexcept {
  bool some = false;
  for (std::size_t i = 0; i < ops_.size();) {
    if (!attempt(*ops_[i])) {
      ++i;
      continue;
    }
    ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(i));
    some = true;
  }
  return some;
}

void FusedOps::drop(rel::LaneId lane) noexcept {
  std::erase_if(ops_, [&](FusedOp* op) {
    if (op->lane != lane) return false;
    done_.finish(*op, Status::peer_lost);
    return true;
  });
}

}  // namespace herald::p2p
