// SPDX-License-Identifier: BSD-3-Clause
// Two ranks of a team in one process: both have this process as their peer, and messages go to itself.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "boot/boot.hpp"
#include "coll/table.hpp"
#include "engine/engine.hpp"
#include "exec/runner.hpp"
#include "type/basic.hpp"

namespace herald::exec {

class Pair : public ::testing::Test {
 protected:
  void SetUp() override {
    char* none[] = {nullptr};
    std::string why;
    boot_ = boot::open(none, why);
    ASSERT_NE(boot_, nullptr) << why;
    engine_ = engine::Engine::open(*boot_, knobs_, false, why);
    ASSERT_NE(engine_, nullptr) << why;
    for (int rank = 0; rank < 2; ++rank)
      teams_[rank] = std::make_unique<Team>(*engine_, knobs_, Team::Identity{77, rank, peers_, 77});
    reductions = 0;
  }
  void TearDown() override {
    for (auto& team : teams_) team.reset();
    if (engine_ == nullptr) return;
    engine_->close();
    engine_->end();
  }

  // Takes turns of the engine until the condition holds, or it is clear that it will not.
  template <class Done>
  bool until(Done done) {
    for (int turns = 0; turns < 2000 && !done(); ++turns) engine_->progress();
    return done();
  }
  void take_turns() {
    for (int turns = 0; turns < 50; ++turns) engine_->progress();
  }

  Runner* make(int rank, coll::Plan plan, const void* send, void* recv, Matching matching = {},
               const coll::Facts* facts = nullptr) {
    auto* cached = new coll::CachedPlan;
    cached->plan = std::move(plan);
    return Runner::make(*teams_[rank], cached, {send, recv, {add, nullptr, nullptr}, matching, facts});
  }
  static coll::Piece ints(coll::Buffer buffer, int count) {
    return coll::Blocks{buffer, &type::basic_layout(type::Basic::c_int), count}.range(0, 1);
  }
  static coll::Plan sends(int to, int count) {
    coll::Builder b;
    b.send(to, ints(coll::Buffer::send, count));
    return b.finish("test");
  }
  static coll::Plan receives(int from, int count) {
    coll::Builder b;
    b.recv(from, ints(coll::Buffer::recv, count));
    return b.finish("test");
  }

  static inline int reductions = 0;
  static void add(const Reduction&, const void* in, void* inout, std::int64_t count) noexcept {
    ++reductions;
    for (std::int64_t i = 0; i < count; ++i) static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
  }

  const Knobs knobs_{};
  const p2p::PeerId peers_[2] = {0, 0};
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Team> teams_[2];
};

}  // namespace herald::exec
