// SPDX-License-Identifier: BSD-3-Clause
// launch/pmi_barrier.hpp: which clients of a PMI server are in the barrier, and whether it can complete.
// Pure. Invariant: a client that has left is not waited for.
#pragma once
#include <optional>
#include <vector>

namespace herald::launch {

struct StalledBarrier {  // `waiting` is in a barrier that `missing` can no longer enter
  int waiting = -1;
  int missing = -1;
};

class PmiBarrier {
 public:
  explicit PmiBarrier(std::size_t clients) : clients_(clients) {}

  // True: all are in it now, and the caller releases them.
  bool enter(int client) {
    Client& entering = at(client);
    if (entering.inside || entering.left) return false;
    entering.inside = true;
    ++inside_;
    return is_complete();
  }
  // The client takes no part from now on. True: all others are in it.
  bool leave(int client) {
    Client& leaving = at(client);
    if (leaving.left) return false;
    leaving.left = true;
    ++left_;
    if (leaving.inside) --inside_;
    leaving.inside = false;
    return is_complete();
  }
  void release() {
    for (Client& client : clients_) client.inside = false;
    inside_ = 0;
  }
  void on_exit(int client) { at(client).exited = true; }
  bool has_left(int client) const { return clients_[static_cast<std::size_t>(client)].left; }
  bool have_all_left() const { return left_ == clients_.size(); }
  std::optional<StalledBarrier> stalled() const {
    StalledBarrier stalled;
    for (std::size_t i = 0; i < clients_.size() && inside_ > 0; ++i) {
      const Client& client = clients_[i];
      if (client.inside && !client.exited && stalled.waiting < 0) stalled.waiting = static_cast<int>(i);
      if (!client.inside && !client.left && client.exited && stalled.missing < 0)
        stalled.missing = static_cast<int>(i);
    }
    if (stalled.waiting < 0 || stalled.missing < 0) return std::nullopt;
    return stalled;
  }

 private:
  struct Client {
    bool inside = false, exited = false, left = false;
  };
  Client& at(int client) { return clients_[static_cast<std::size_t>(client)]; }
  bool is_complete() const { return inside_ > 0 && inside_ == clients_.size() - left_; }

  std::vector<Client> clients_;
  std::size_t inside_ = 0, left_ = 0;
};

}  // namespace herald::launch
