// SPDX-License-Identifier: BSD-3-Clause
// boot/pmi1_connect.hpp: the TCP connection to a launcher that gave PMI_PORT.
#pragma once
#include <string>

namespace herald::boot {

// Connects to "host:port" and returns the socket, or -1 with `why`. Gives up after some seconds.
int connect_to(const char* host_and_port, std::string& why);

}  // namespace herald::boot
