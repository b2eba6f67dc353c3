// SPDX-License-Identifier: BSD-3-Clause
#include "engine/local_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "path/shm/cma.hpp"

namespace herald::engine {
namespace {

static_assert(sizeof(type::Run) == sizeof(iovec) && offsetof(type::Run, data) == offsetof(iovec, iov_base) &&
              offsetof(type::Run, bytes) == offsetof(iovec, iov_len));

std::span<const iovec> vectors(std::span<const type::Run> runs) noexcept {
  return {reinterpret_cast<const iovec*>(runs.data()), runs.size()};
}

constexpr std::size_t kSplitCopiesBytes = p2p::kAllSplitCopies * sizeof(p2p::SplitCopy);
static_assert(kSplitCopiesBytes + sizeof(path::RegionTable) <= path::kSideBytes);

std::uint64_t bytes_in(std::span<const type::Run> runs) noexcept {
  std::uint64_t bytes = 0;
  for (const type::Run& run : runs) bytes += run.bytes;
  return bytes;
}

// Both have as many bytes, cut anyhow.
void copy(std::span<const type::Run> to, std::span<const type::Run> from) noexcept {
  std::size_t in_to = 0, in_from = 0;
  for (std::size_t t = 0, f = 0; t < to.size() && f < from.size();) {
    const std::size_t part = std::min(to[t].bytes - in_to, from[f].bytes - in_from);
    std::memcpy(static_cast<std::byte*>(to[t].data) + in_to,
                static_cast<const std::byte*>(from[f].data) + in_from, part);
    in_to += part;
    in_from += part;
    if (in_to == to[t].bytes) ++t, in_to = 0;
    if (in_from == from[f].bytes) ++f, in_from = 0;
  }
}

}  // namespace

p2p::SplitCopy* split_copies_in(std::byte* side) noexcept { return reinterpret_cast<p2p::SplitCopy*>(side); }

path::RegionTable& regions_in(std::byte* side) noexcept {
  return *reinterpret_cast<path::RegionTable*>(side + kSplitCopiesBytes);
}

bool LocalMover::map(std::int32_t peer, std::span<const type::Run> there,
                     std::span<type::Run> mapped) noexcept {
  const path::RegionTable& table = regions_in(shm_.side_of(peer));
  if (table.used.load(std::memory_order_relaxed) == 0 || there.size() > mapped.size()) return false;
  const auto at = static_cast<std::size_t>(peer);
  if (regions_.size() <= at) regions_.resize(at + 1);
  if (!regions_[at]) regions_[at].reset(new (std::nothrow) path::PeerRegions(shm_.pid_of(peer), table));
  if (!regions_[at]) return false;
  for (std::size_t i = 0; i < there.size(); ++i) {
    std::byte* here = regions_[at]->find(reinterpret_cast<std::uintptr_t>(there[i].data), there[i].bytes);
    if (here == nullptr) return false;
    mapped[i] = {here, there[i].bytes};
  }
  mapped_bytes_ += bytes_in(there);
  return true;
}

Status LocalMover::read(std::int32_t peer, std::span<const type::Run> here,
                        std::span<const type::Run> there) noexcept {
  std::array<type::Run, wire::kMaxRuns> mapped;
  if (map(peer, there, mapped)) return copy(here, {mapped.data(), there.size()}), Status::ok;
  kernel_bytes_ += bytes_in(there);
  return shm_.cma()->read(shm_.pid_of(peer), vectors(here), vectors(there));
}

Status LocalMover::write(std::int32_t peer, std::span<const type::Run> here,
                         std::span<const type::Run> there) noexcept {
  std::array<type::Run, wire::kMaxRuns> mapped;
  if (map(peer, there, mapped)) return copy({mapped.data(), there.size()}, here), Status::ok;
  kernel_bytes_ += bytes_in(there);
  return shm_.cma()->write(shm_.pid_of(peer), vectors(here), vectors(there));
}

void LocalMover::notify(std::int32_t peer) noexcept {
  if (path::Inbox* inbox = shm_.peer(peer)) inbox->bell().ring_if_asleep();
}

void LocalMemory::open(path::ShmPath& shm, p2p::Core& core, int rank, int size, std::size_t alloc_bytes) {
  shm_ = &shm;
  if (shm.cma() == nullptr) return;
  alloc_bytes_ = alloc_bytes;
  size_ = size;
  regions_.open(&regions_in(shm.own_side()));
  core.direct().open(split_copies_in(shm.own_side()));
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank && shm.can_reach(peer))
      core.direct().add_peer(peer, split_copies_in(shm.side_of(peer)), rank);
  mover_ = std::make_unique<LocalMover>(shm);
}

std::string LocalMemory::new_shm_path() {
  return shm_ != nullptr ? shm_->own_path() + "-" + std::to_string(files_++) : std::string();
}

void LocalMemory::close() noexcept {
  shm_ = nullptr;
  alloc_bytes_ = 0;
  regions_.open(nullptr);
  mover_.reset();
}

}  // namespace herald::engine
