// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/timeline.hpp: prints the events of a simulated network, one line per datagram and stage.
#pragma once
#include <cstdio>

#include "sim/net/net.hpp"

namespace herald::sim {

class Timeline final : public Watcher {
 public:
  explicit Timeline(std::FILE* out) noexcept : out_(out) {}
  void on_sight(Instant now, Sight sight, HostId from, HostId to, std::uint8_t link,
                std::span<const std::byte> bytes) override;
  void on_action(Instant now, const std::string& what) override;

 private:
  std::FILE* out_;
};

}  // namespace herald::sim
