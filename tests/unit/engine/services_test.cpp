// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with service calls to a rank that computes: nothing answers until its program calls
// MPI; a call that needs the program runs without it, or is lost; a call overtakes a message of the same
// rank.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/engine/job.hpp"
#include "wire/p2p_packet.hpp"

using namespace herald;
using namespace herald::test;

namespace {

constexpr auto kQuestion = p2p::ServiceId::first_free;
constexpr auto kAnswer = static_cast<p2p::ServiceId>(17), kNeedsProgram = static_cast<p2p::ServiceId>(18);
constexpr int kLimitMs = 30'000;

struct Number {
  wire::Le<std::uint32_t> value;
};

// Counts calls, and answers questions.
struct Ends {
  engine::Engine& engine;
  std::atomic<int> questions{0}, answers{0}, program_calls{0};

  explicit Ends(engine::Engine& e) : engine(e) {
    p2p::Services& services = engine.messages().services();
    engine.lock().enter();
    services.register_handler(kQuestion, {on_question, nullptr, this, true});
    services.register_handler(kAnswer, {[](void* ends, const p2p::ServiceCall&, type::Cursor&) {
                                          ++static_cast<Ends*>(ends)->answers;
                                          return true;
                                        },
                                        nullptr, this, true});
    services.register_handler(kNeedsProgram, {[](void* ends, const p2p::ServiceCall&, type::Cursor&) {
                                                ++static_cast<Ends*>(ends)->program_calls;
                                                return true;
                                              },
                                              nullptr, this, false});
    engine.lock().leave();
  }
  static bool on_question(void* ends, const p2p::ServiceCall& call, type::Cursor&) {
    auto& self = *static_cast<Ends*>(ends);
    ++self.questions;
    self.engine.messages().services().call(call.from, kAnswer, Number{1});
    return true;
  }
  void call(int to, p2p::ServiceId id) {
    engine.lock().enter();
    engine.messages().services().call(to, id, Number{1});
    engine.lock().leave();
  }
  template <class Done>
  void wait_for(Done done) {
    engine.lock().enter();
    while (!done()) engine.wait_turn();
    engine.lock().leave();
  }
};

void say(boot::Boot& boot, const char* word) { CHILD_CHECK(boot.put("", word) == Status::ok); }

bool has_said(boot::Boot& boot, int rank, const std::string& word) {
  for (int i = 0; i < kLimitMs; ++i, usleep(1000)) {
    std::string value;
    if (boot.get(rank, "", value) == Status::ok && value == word) return true;
  }
  return false;
}

// The last rank computes; rank 0 asks it, and says when it has the answer.
void ask_a_computing_rank(engine::Engine& engine, boot::Boot& boot) {
  const int last = engine.peers().size() - 1;
  Ends ends(engine);
  (void)boot.fence();
  if (engine.peers().rank() == last) {
    usleep(300'000);  // longer than a program that waits stays outside
    CHILD_CHECK(has_said(boot, 0, "answered"));
    CHILD_CHECK(ends.questions == 1 && ends.program_calls == 0);
    ends.wait_for([&] { return ends.program_calls != 0; });
    say(boot, "served");
    int value = 0;
    (void)receive(engine, 0, 5, &value, sizeof value);
    CHILD_CHECK(value == 6);
  } else if (engine.peers().rank() == 0) {
    ends.call(last, kQuestion);
    ends.wait_for([&] { return ends.answers != 0; });
    ends.call(last, kNeedsProgram);
    for (int i = 0; i < 300; ++i) {  // time to run it too early
      engine.lock().enter();
      (void)engine.progress();
      engine.lock().leave();
      usleep(1000);
    }
    say(boot, "answered");
    CHILD_CHECK(has_said(boot, last, "served"));
    const int value = 6;
    send(engine, last, 5, &value, sizeof value);
  }
  (void)boot.fence();
}

}  // namespace

TEST(ServiceCalls, the_keep_alive_thread_answers_remote_peers) {
  Job job;
  job.knobs.path = "udp";
  job.knobs.if_ = "lo";
  job.knobs.detect_ms = 60000;
  EXPECT_TRUE(job.run(2, ask_a_computing_rank));
}

TEST(ServiceCalls, the_keep_alive_thread_answers_local_peers) {
  Job job;
  job.knobs.if_ = "lo";
  job.knobs.detect_ms = 60000;
  job.adjust = [](int rank, Knobs& knobs) { knobs.host = rank == 1 ? "b" : "a"; };
  EXPECT_TRUE(job.run(3, ask_a_computing_rank));
}

TEST(ServiceCalls, the_progress_thread_answers_where_nothing_is_under_way) {
  for (const char* path : {"shm", "udp"}) {
    Job job;
    job.knobs.path = path;
    job.knobs.if_ = "lo";
    job.knobs.detect_ms = 60000;
    job.knobs.progress = "thread";
    EXPECT_TRUE(job.run(2, ask_a_computing_rank)) << path;
  }
}

// A call behind a message waits for the program with it: a receive that is not posted yet keeps its order.
TEST(ServiceCalls, a_call_does_not_overtake_a_message) {
  for (const char* path : {"shm", "udp"}) {
    Job job;
    job.knobs.path = path;
    job.knobs.if_ = "lo";
    job.knobs.detect_ms = 60000;
    EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot& boot) {
      Ends ends(engine);
      (void)boot.fence();
      int value = 6;
      if (engine.peers().rank() == 0) {
        send(engine, 1, 5, &value, sizeof value);
        ends.call(1, kQuestion);
        ends.wait_for([&] { return ends.answers != 0; });
      } else {
        usleep(400'000);
        CHILD_CHECK(ends.questions == 0);
        ends.wait_for([&] { return ends.questions != 0; });
        value = 0;
        (void)receive(engine, 0, 5, &value, sizeof value);
        CHILD_CHECK(value == 6);
      }
      (void)boot.fence();
    })) << path;
  }
}
