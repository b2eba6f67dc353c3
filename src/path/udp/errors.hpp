// SPDX-License-Identifier: BSD-3-Clause
// path/udp/errors.hpp: ICMP errors about datagrams that were sent earlier.
#pragma once
#include "path/udp/links.hpp"
#include "path/udp/socket.hpp"

namespace herald::path::udp {

// Drains the error queue of the socket: marks the links concerned as refused, and allows fragmentation where
// the path MTU has shrunk. Returns the number of errors.
int read_errors(Socket& socket, std::uint8_t socket_index, Links& links) noexcept;

}  // namespace herald::path::udp
