// SPDX-License-Identifier: BSD-3-Clause
// p2p/notices.hpp: what ranks observe of the network, sent to the rank that prints it.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "p2p/core.hpp"

namespace herald::p2p {

struct Notice {
  PeerId from, member;
  std::uint32_t what, amount;  // wire::kNotice...
};

class Notices {
 public:
  explicit Notices(Core& core) noexcept;
  ~Notices() { core_.services().register_handler(ServiceId::notice, {}); }
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;
  void send(PeerId to, const Notice& notice) noexcept;
  bool empty() const noexcept { return received_.empty(); }
  std::vector<Notice> take() noexcept { return std::exchange(received_, {}); }

 private:
  static constexpr std::size_t kMaxReceived = 256;  // kept until taken
  static bool on_call(void* notices, const ServiceCall& call, type::Cursor& into) noexcept;

  Core& core_;
  std::vector<Notice> received_;
};

}  // namespace herald::p2p
