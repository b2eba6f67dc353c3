// SPDX-License-Identifier: BSD-3-Clause
#include "engine/near.hpp"

#include "engine/loop.hpp"
#include "path/shm/cma.hpp"

namespace herald::engine {
namespace {

static_assert(sizeof(type::Run) == sizeof(iovec) && offsetof(type::Run, data) == offsetof(iovec, iov_base) &&
              offsetof(type::Run, bytes) == offsetof(iovec, iov_len));

std::span<const iovec> vectors(std::span<const type::Run> runs) noexcept {
  return {reinterpret_cast<const iovec*>(runs.data()), runs.size()};
}

static_assert(p2p::kMeetings * sizeof(p2p::Meeting) <= path::kSideBytes);

p2p::Meeting* meetings_in(std::byte* side) noexcept { return reinterpret_cast<p2p::Meeting*>(side); }

}  // namespace

Status NearMover::read(std::int32_t peer, std::span<const type::Run> here,
                       std::span<const type::Run> there) noexcept {
  return path::read_cma(shm_.pid_of(peer), vectors(here), vectors(there));
}

Status NearMover::write(std::int32_t peer, std::span<const type::Run> here,
                        std::span<const type::Run> there) noexcept {
  return path::write_cma(shm_.pid_of(peer), vectors(here), vectors(there));
}

// Found out once, here: whose memory the kernel lets us reach.
void Loop::open_direct(const Knobs& knobs) {
  if (!shm_ || knobs.cma == "off") return;
  core_.set_meetings(meetings_in(shm_->own_side()));
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_ && shm_->can_reach(peer)) core_.set_direct(peer, meetings_in(shm_->side_of(peer)));
  mover_ = std::make_unique<NearMover>(*shm_);
}

}  // namespace herald::engine
