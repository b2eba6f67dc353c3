// SPDX-License-Identifier: BSD-3-Clause
// p2p/matcher.hpp: which receive gets which message: posted receives and unexpected messages of all contexts,
// in MPI order, and the memory of messages that came before their receives.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "p2p/contexts.hpp"
#include "p2p/counters.hpp"
#include "p2p/flow_control.hpp"
#include "p2p/message.hpp"

namespace herald::p2p {

class Matcher {
 public:
  Matcher(FlowControl& flow, CoreCounters& counters) noexcept : flow_(flow), counters_(counters) {}
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // For a receive. The context is in use from now on; null: no memory.
  Context* open(std::uint64_t id) noexcept {
    Context* context = contexts_.find_or_make(id);
    if (context != nullptr) contexts_.remember(*context);
    return context;
  }
  // For a message, which does not bring a forgotten context back; null: no memory.
  Context* find(std::uint64_t id) noexcept { return contexts_.find_or_make(id); }
  bool awaits(std::uint64_t context, PeerId from) noexcept {
    return contexts_.find_or_make(context)->posted.awaits(from);
  }
  void remove_posted(RecvOp& op) noexcept { contexts_.find(op.context)->posted.remove(op); }

  bool probe(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept;
  bool take(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept;
  // The unexpected message that the peer gave this number, out of its queue; null: none.
  Message* take_sent(std::uint64_t context, PeerId from, std::uint32_t seq) noexcept;
  // Takes each posted receive that waits for this peer and no other out of its queue.
  template <class Visit>
  void take_awaiting(PeerId peer, Visit visit) noexcept {
    contexts_.for_each([&](Context& context) {
      while (RecvOp* op = context.posted.take_awaiting(peer)) visit(*op);
    });
  }
  // Visits the envelopes of unexpected messages, until `visit` returns false.
  template <class Visit>
  void for_each_unexpected(Visit visit) noexcept {
    bool more = true;
    contexts_.for_each([&](Context& context) {
      for (Message* each = context.unexpected.front(); more && each != nullptr;
           each = context.unexpected.next(*each))
        more = visit(each->envelope);
    });
  }
  // The next message of a context that is about to be forgotten, out of its queue; null: none, it is
  // forgotten.
  Message* forget(std::uint64_t context) noexcept;

  // A message that no receive waits for; null: no memory.
  Message* store(Context& context, const Envelope& envelope, std::span<const std::byte> body) noexcept;
  // The message is in no queue.
  void drop(Message* message) noexcept;
  std::uint64_t messages_held() const noexcept { return pool_.held(); }

 private:
  Message* look(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept;

  FlowControl& flow_;
  CoreCounters& counters_;
  Contexts contexts_;
  MessagePool pool_;
};

}  // namespace herald::p2p
