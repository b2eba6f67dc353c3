// SPDX-License-Identifier: BSD-3-Clause
// path/udp/errors.hpp: what routers, peers and our own system say about datagrams that left earlier.
#pragma once
#include "path/udp/links.hpp"
#include "path/udp/socket.hpp"

namespace herald::path::udp {

// Empties the socket's queue of errors: marks the links they are about as refused, lets fragments be where a
// way has become narrower. Returns how many there were.
int read_errors(Socket& socket, std::uint8_t socket_index, Links& links) noexcept;

}  // namespace herald::path::udp
