// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/zero_copy.hpp"

namespace herald::p2p {

// The last bytes of a message are copied, so that its send need not wait for their acknowledgement.
bool ZeroCopy::borrow(SendOp& op, std::uint32_t bytes, Borrowed& borrowed) noexcept {
  const std::uint64_t end = op.phase == SendPhase::streaming ? op.end : op.data.total();
  const bool waits = op.id != 0 && op.phase != SendPhase::cancelling;
  if (!waits || !op.data.contiguous() ||
      end - op.data.position() < std::uint64_t{bytes} + config_.remote_copied)
    return false;
  borrowed = {static_cast<const std::byte*>(op.data.contiguous_at()), bytes};
  op.data.skip(bytes);
  op.borrows = true;
  op.borrowed_end = ++peers_[op.to].borrowed;
  return true;
}

SendOp* ZeroCopy::take_returned() noexcept {
  for (SendOp* op = waiting_.front(); op != nullptr; op = waiting_.next(*op))
    if (!is_borrowed(*op)) {
      op->unlink();
      return op;
    }
  return nullptr;
}

}  // namespace herald::p2p
