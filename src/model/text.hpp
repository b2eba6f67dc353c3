// SPDX-License-Identifier: BSD-3-Clause
// model/text.hpp: measured parameters as text: what `herald model measure` writes beside its JSON, the
// library reads, and rank 0 hands to the other ranks. Lines of words; times in ns, lengths in bytes:
//
//   herald-model 1
//   cluster node-5f3a
//   hosts node1 node2
//   kernel 6.1.0-18-amd64
//   link_mbit 1000
//   host
//   M_ctc 0:40:4 65536:2700:200        bytes:ns:interval ...
//   wake_ns 5000
//   path udp
//   O_s 0:3100:150 65536:9000:300
//   tried bcast 8 4 17 cast            ranks, hosts, bits of the length: which algorithm was the fastest
//   end
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/parameters.hpp"
#include "model/tried.hpp"

namespace herald::model {

constexpr int kTextVersion = 1;
constexpr std::size_t kMostText = 64 << 10;

struct Measured {
  std::string cluster;             // its name
  std::vector<std::string> hosts;  // that took part
  std::string kernel;
  double link_mbit = 0;  // as the kernel says; 0: it does not
  Parameters parameters;
  std::vector<Tried> tried;
};

std::string to_text(const Measured& measured);
// Strict: a damaged file, one of another version, or one with absurd values is refused, and `why` says what
// is wrong with which line.
bool from_text(std::string_view text, Measured& out, std::string& why);

}  // namespace herald::model
