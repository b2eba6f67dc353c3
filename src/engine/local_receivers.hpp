// SPDX-License-Identifier: BSD-3-Clause
// engine/local_receivers.hpp: our rings that peers of this host write to. A peer announces the one that it
// took; the ranks keep theirs, processes of other jobs leave them again.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "p2p/ops.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

struct LocalReceiver {
  path::RingReader ring;
  int from = -1;  // -1: its writer has left
  std::uint32_t index = 0;
};

class LocalReceivers {
 public:
  // So many at once: they stay where they are while they are read.
  void reserve(std::size_t rings) { all_.reserve(rings); }
  void set_peers(std::size_t peers) { of_.resize(peers, -1); }
  // False: there is no such ring, or the peer has one already.
  bool open(path::ShmPath& shm, p2p::PeerId from, std::uint32_t index) {
    int& at = of_[static_cast<std::size_t>(from)];
    if (at >= 0 || !shm.has_ring(index)) return false;
    auto place = std::find_if(all_.begin(), all_.end(), [](const auto& each) { return each.from < 0; });
    if (place == all_.end()) place = all_.insert(place, LocalReceiver{});
    at = static_cast<int>(place - all_.begin());
    *place = {shm.ring(index), from, index};
    return true;
  }
  // Nothing more is read from the peer. The index of its ring; -1: none.
  std::int64_t close(p2p::PeerId from) noexcept {
    LocalReceiver* const receiver = of(from);
    if (receiver == nullptr) return -1;
    of_[static_cast<std::size_t>(from)] = -1;
    receiver->from = -1;
    return receiver->index;
  }
  void clear() noexcept {
    all_.clear();
    std::fill(of_.begin(), of_.end(), -1);
  }

  // Null: none.
  LocalReceiver* of(p2p::PeerId peer) noexcept {
    const int at = of_[static_cast<std::size_t>(peer)];
    return at >= 0 ? &all_[static_cast<std::size_t>(at)] : nullptr;
  }
  template <class Use>
  void for_each(Use use) noexcept {
    for (LocalReceiver& each : all_)
      if (each.from >= 0) use(each);
  }
  bool has_news() const noexcept {
    return std::any_of(all_.begin(), all_.end(),
                       [](const auto& each) { return each.from >= 0 && !each.ring.is_empty(); });
  }

 private:
  std::vector<LocalReceiver> all_;
  std::vector<int> of_;  // by peer; -1: none
};

}  // namespace herald::engine
