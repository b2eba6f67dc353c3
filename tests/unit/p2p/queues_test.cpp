// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: when a queue grows long and is spread over bins, MPI order is lost,
// above all between receives with wildcards and without; an item is lost when bins are made anew.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.hpp"
#include "p2p/queues.hpp"

using namespace herald;
using namespace herald::p2p;

namespace {

bool fits(std::int32_t want_source, std::int32_t want_tag, std::int32_t source, std::int32_t tag) {
  return (want_source == kAnySource || want_source == source) && (want_tag == kAnyTag || want_tag == tag);
}

}  // namespace

TEST(P2pQueues, posted_receives_match_as_a_plain_list_would) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng chance(seed);
    PostedQueue queue;
    std::vector<std::unique_ptr<RecvOp>> owned;
    std::vector<RecvOp*> plain;
    const std::uint64_t most = 1 + chance.below(3000);
    for (int step = 0; step < 8000; ++step) {
      const auto source = static_cast<std::int32_t>(chance.below(20));
      const auto tag = static_cast<std::int32_t>(chance.below(8));
      const std::uint64_t what = chance.below(10);
      if (what < (plain.size() < most ? 6u : 2u)) {
        owned.push_back(std::make_unique<RecvOp>());
        owned.back()->source = chance.below(8) == 0 ? kAnySource : source;
        owned.back()->tag = chance.below(8) == 0 ? kAnyTag : tag;
        queue.add(*owned.back());
        plain.push_back(owned.back().get());
      } else if (what == 9 && !plain.empty()) {
        const auto at = plain.begin() + static_cast<std::ptrdiff_t>(chance.below(plain.size()));
        queue.remove(**at);
        plain.erase(at);
      } else {
        const auto at = std::find_if(plain.begin(), plain.end(),
                                     [&](RecvOp* op) { return fits(op->source, op->tag, source, tag); });
        ASSERT_EQ(queue.take(source, tag), at == plain.end() ? nullptr : *at) << step;
        if (at != plain.end()) plain.erase(at);
      }
      ASSERT_EQ(queue.empty(), plain.empty());
    }
  }
}

TEST(P2pQueues, unexpected_messages_are_found_as_in_a_plain_list) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng chance(seed);
    MessagePool pool;
    UnexpectedQueue queue;
    std::vector<Message*> plain;
    const std::uint64_t most = 1 + chance.below(3000);
    for (int step = 0; step < 8000; ++step) {
      const auto source = static_cast<std::int32_t>(chance.below(20));
      const auto tag = static_cast<std::int32_t>(chance.below(8));
      if (chance.below(10) < (plain.size() < most ? 6u : 2u)) {
        Message* message = pool.get(static_cast<std::uint32_t>(chance.below(20000)));
        message->envelope = {
            .source = source, .tag = tag, .from = source, .seq = static_cast<std::uint32_t>(step)};
        queue.add(*message);
        plain.push_back(message);
        continue;
      }
      const std::int32_t want_source = chance.below(8) == 0 ? kAnySource : source;
      const std::int32_t want_tag = chance.below(8) == 0 ? kAnyTag : tag;
      const auto at = std::find_if(plain.begin(), plain.end(), [&](Message* message) {
        return fits(want_source, want_tag, message->envelope.source, message->envelope.tag);
      });
      ASSERT_EQ(queue.find(want_source, want_tag), at == plain.end() ? nullptr : *at) << step;
      if (at == plain.end()) continue;
      ASSERT_EQ(queue.find_seq((*at)->envelope.from, (*at)->envelope.seq), *at);
      queue.remove(**at);
      pool.put(*at);
      plain.erase(at);
    }
    while (Message* message = queue.front()) {
      queue.remove(*message);
      pool.put(message);
    }
  }
}
