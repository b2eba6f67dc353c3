// SPDX-License-Identifier: BSD-3-Clause
// launch/pmi_sockets.hpp: connects the PMI-1 server to the ranks' sockets, with back-pressure.
#pragma once
#include <string>
#include <vector>

#include "pmi.hpp"
#include "poller.hpp"

namespace herald::launch {

class PmiSockets {
 public:
  PmiSockets(Poller& poller, PmiServer server, std::size_t ranks)
      : poller_(poller), server_(std::move(server)), sockets_(ranks) {}
  ~PmiSockets();
  PmiSockets(const PmiSockets&) = delete;
  PmiSockets& operator=(const PmiSockets&) = delete;

  PmiServer& server() { return server_; }
  void add(int rank, int fd);  // owns fd, which does not block
  void on_ready(int rank, unsigned events);
  void on_exit(int rank);  // takes what the rank sent before
  void flush();

 private:
  struct Socket {
    int fd = -1;
    bool writing = false;
  };
  void read(int rank);
  void write(int rank);
  void close(Socket& socket);

  Poller& poller_;
  PmiServer server_;
  std::vector<Socket> sockets_;
};

}  // namespace herald::launch
