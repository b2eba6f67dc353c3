// SPDX-License-Identifier: BSD-3-Clause
// p2p/bulk.hpp: both sides of bulk frames (docs/decisions/0018-bulk-frames.md): long messages by TCP
// connections, which the driver opens and closes, and reads and writes.
#pragma once
#include "p2p/bulk_receiver.hpp"
#include "p2p/bulk_sender.hpp"

namespace herald::p2p {

struct Bulk {
  Bulk(const CoreConfig& config, PeerTable& peers, Receiver& receiver) noexcept
      : sends(peers), receives(config, receiver) {}
  BulkSender sends;
  BulkReceiver receives;
};

}  // namespace herald::p2p
