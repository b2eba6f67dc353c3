// SPDX-License-Identifier: BSD-3-Clause
// engine/bulk_links.hpp: TCP connections that carry bulk frames (p2p/bulk.hpp), driven: reads go straight to
// the memory of receives, writes come from that of sends.
// In:  connections that TcpLinks has proven; turns of the program. Out: peers to connect to; bytes moved.
#pragma once
#include <map>

#include "p2p/core.hpp"
#include "path/tcp/raw.hpp"

namespace herald::engine {

class BulkLinks {
 public:
  explicit BulkLinks(p2p::Core& core) noexcept : core_(core) {}

  int descriptor() const noexcept { return raw_.descriptor(); }
  // A proven connection: `receives`: we opened it, and the peer sends by it.
  void adopt(p2p::PeerId peer, int fd, wire::BulkSession session, bool receives);
  // A connection that we wanted did not come about.
  void on_failed(p2p::PeerId peer, Instant now) { core_.bulk().receives.choice().on_closed(now, peer); }
  p2p::PeerId take_wanted() noexcept { return core_.bulk().receives.choice().take_wanted(); }

  bool is_idle() const noexcept { return raw_.is_empty(); }
  // True if anything moved. `quiet`: the descriptor is known not to be readable.
  bool turn(bool quiet);
  void close();

 private:
  using Connections = std::map<p2p::PeerId, int>;  // names in raw_
  bool read(p2p::PeerId peer, int id, bool& broken);
  bool write(p2p::PeerId peer, int id, bool& broken);
  void drop_incoming(p2p::PeerId peer);
  void drop_outgoing(p2p::PeerId peer);

  p2p::Core& core_;
  path::TcpRaw raw_;
  Connections incoming_, outgoing_;
};

}  // namespace herald::engine
