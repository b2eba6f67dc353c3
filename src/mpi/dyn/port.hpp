// SPDX-License-Identifier: BSD-3-Clause
// mpi/dyn/port.hpp: ports: where a root listens for the roots of other jobs.
//
//   herald1#TCP PORT#SECRET#ADDRESS,ADDRESS...
//
// The secret is random, of this port only: a connection that does not prove to know it is refused.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "mpi/core/call.hpp"
#include "mpi/dyn/channel.hpp"

namespace herald::mpi {

struct PortName {
  std::uint16_t port = 0;
  wire::JobKey secret{};
  std::vector<std::string> addresses;
};
std::string write_port(const PortName& name);
bool read_port(const std::string& text, PortName& name);

class Port {
 public:
  // Null with `why`.
  static std::unique_ptr<Port> open(Call& call, std::string& why) noexcept;
  const std::string& name() const noexcept { return text_; }
  // The next connection that has proved to know the secret; null: none yet.
  std::unique_ptr<StreamChannel> poll() noexcept;

 private:
  std::unique_ptr<path::Listener> listener_;
  PortName name_;
  std::string text_;
  std::vector<std::unique_ptr<StreamChannel>> greeting_;  // connections that have not proved it yet
};

// Connects to a port as the root of a group. Null with an error class and `why`.
std::unique_ptr<StreamChannel> connect_to_port(const std::string& text, Duration limit, int& error,
                                               std::string& why) noexcept;
// The value of the info key `timeout`, in seconds.
Duration time_limit(const Info* info, Duration otherwise) noexcept;

}  // namespace herald::mpi
