// SPDX-License-Identifier: BSD-3-Clause
// rma/endpoint.hpp: the windows of this process; passes each service call to its window.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "rma/origin.hpp"
#include "rma/target.hpp"

namespace herald::rma {

struct Window {
  Window(p2p::Services& services, std::uint64_t number, const std::vector<p2p::PeerId>& members,
         int rank) noexcept
      : id(number),
        peers(members),
        target(services, number, members, rank),
        origin(services, number, members, rank) {}

  const std::uint64_t id;  // the same at all ranks
  const std::vector<p2p::PeerId> peers;
  Target target;
  Origin origin;
};

class Endpoint {
 public:
  // `on_news` is called after an answer that a call of the program may wait for.
  Endpoint(p2p::Services& services, void (*on_news)()) noexcept;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() { services_.register_handler(kService, {}); }

  p2p::Services& services() noexcept { return services_; }
  // A window is added before any rank can know that it exists.
  void add(Window& window) noexcept { windows_[window.id] = &window; }
  void remove(Window& window) noexcept { windows_.erase(window.id); }
  template <class Visit>
  void each(Visit visit) noexcept {
    for (const auto& [id, window] : windows_) visit(*window);
  }

 private:
  Window* find(const p2p::ServiceCall& call) noexcept;
  static bool on_call(void* self, const p2p::ServiceCall& call, type::Cursor& into) noexcept;
  static void on_bulk(void* self, const p2p::ServiceCall& call, Status status, std::uint64_t bytes) noexcept;

  p2p::Services& services_;
  void (*on_news_)();
  std::map<std::uint64_t, Window*> windows_;
};

}  // namespace herald::rma
