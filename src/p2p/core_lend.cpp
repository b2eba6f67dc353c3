// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_lend.cpp: bytes of long messages to other hosts that are sent from where they are.
#include "p2p/core.hpp"

namespace herald::p2p {

// Long messages go from the program's memory to the network without a copy between, which costs their sender
// more than all else; but the last bytes are copied, so that it need not wait until they have come.
bool Core::borrow(SendOp& op, std::uint32_t bytes, Borrowed& borrowed) noexcept {
  const std::uint64_t end = op.phase == SendPhase::streaming ? op.end : op.data.total();
  const bool waits = op.id != 0 && op.phase != SendPhase::recalling;
  if (!waits || !op.data.contiguous() ||
      end - op.data.position() < std::uint64_t{bytes} + config_.remote_copied)
    return false;
  borrowed = {static_cast<const std::byte*>(op.data.contiguous_at()), bytes};
  op.data.skip(bytes);
  op.borrows = true;
  op.borrowed_end = ++peer(op.to).borrowed;
  return true;
}

bool Core::has_borrowed(const SendOp& op) noexcept {
  return op.borrows && static_cast<std::int32_t>(peer(op.to).returned - op.borrowed_end) < 0;
}

// Nothing more is to be sent or heard.
void Core::end_send(SendOp& op) noexcept {
  if (!has_borrowed(op)) return finish_send(op, Status::ok);
  op.unlink();
  op.phase = SendPhase::streaming;
  borrowed_.push_back(op);
}

void Core::on_returned(PeerId to, std::uint32_t packets) noexcept {
  peer(to).returned += packets;
  List<SendOp> left;
  while (SendOp* op = borrowed_.pop_front()) {
    if (has_borrowed(*op))
      left.push_back(*op);
    else
      finish_send(*op, Status::ok);
  }
  while (SendOp* op = left.pop_front()) borrowed_.push_back(*op);
}

}  // namespace herald::p2p
