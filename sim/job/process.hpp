// SPDX-License-Identifier: BSD-3-Clause
// sim/job/process.hpp: one process of a job on a simulated host: a node::Node, driven as engine/ drives it,
// and a script in the program's place. In:  turns from the network. Out: datagrams; what became of each
// operation.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/node.hpp"
#include "sim/job/collective_runs.hpp"
#include "sim/job/messages.hpp"
#include "sim/job/one_sided.hpp"
#include "sim/job/script.hpp"
#include "sim/job/tap.hpp"
#include "sim/job/tcp.hpp"
#include "sim/net/net.hpp"

namespace herald::sim {

struct ProcessConfig {
  rel::MeshConfig mesh;         // `me` and `peers` are filled in
  p2p::CoreConfig core;         // `peers` likewise
  rel::LanesConfig lanes;       // `me`, `peers`, seal and datagram_bytes are the mesh's
  std::uint8_t interfaces = 1;  // that multicast uses
  bool mixed_sockets = true;    // those of some hosts hold fewer casts than those of others
  LaneAddresses addresses;
  TapConfig tap;
  wire::Security security = wire::Security::tag;
  // While the program computes a keep-alive thread takes turns so often, in its place; 0: there is none.
  Duration keep_alive{};
  bool hears_of_links = false;  // the system says so when our own link is down
  Duration twitch{};            // a turn so often, for nothing; 0: no
  TcpNet* tcp = nullptr;        // null: UDP only
  bool bulk = false;            // `tcp` carries bulk frames
  bool sends_at_once = false;   // a send is pumped and transmitted when it is started, as blocking ones are
};

class Process final : public Node {
 public:
  Process(Net& net, const Script& script, HostId me, std::uint64_t seed, const ProcessConfig& config);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void turn(Instant now) override;
  Instant wake_at() const override;

  // All steps are done and all that we sent has been acknowledged.
  bool is_finished() const noexcept {
    return step_ == steps_.size() && messages_.pending() == 0 && runs_.all_done() &&
           one_sided_.pending() == 0;
  }
  bool is_flushed() const noexcept { return is_finished() && node_.is_flushed(); }
  Instant finished_at() const noexcept { return finished_at_; }
  // The launcher says so.
  void on_death(HostId peer);

  const p2p::Core& core() const noexcept { return node_.core(); }
  const rel::Mesh& mesh() const noexcept { return node_.mesh(); }
  const rel::Lanes& lanes() const noexcept { return node_.lanes().lanes(); }
  const Messages& messages() const noexcept { return messages_; }
  const CollectiveRuns& runs() const noexcept { return runs_; }
  const OneSided& one_sided() const noexcept { return one_sided_; }
  // Datagrams of lanes that no lane took, and those that could not be opened.
  std::uint64_t refused() const noexcept { return refused_ + node_.refused().all(); }
  std::uint64_t most_buffered() const noexcept { return most_buffered_; }
  std::uint64_t idle_turns() const noexcept { return idle_turns_; }
  std::string state() const;

 private:
  bool receive(Instant now);
  void on_arrival(Instant now, const Arrival& arrival);
  std::uint64_t dropped() const noexcept;
  bool run_steps(Instant now);
  bool run_step(Instant now, const Step& step);
  void compute(Instant now, Duration how_long);
  void start_send(const Step& step);
  bool pump(Instant now);
  bool transmit(Instant now);
  void put(const rel::Tx& tx);
  bool drop_lost();
  std::uint8_t link_to(HostId peer, rel::LinkId link) const noexcept;
  rel::LinkId link_from(HostId peer, std::uint8_t link) const noexcept;

  Net& net_;
  const Script& script_;
  const std::vector<Step>& steps_;
  const HostId me_;
  const ProcessConfig config_;
  Tap tap_;
  node::Node node_;
  CollectiveRuns runs_;
  Messages messages_;
  OneSided one_sided_;
  std::optional<TcpEnd> tcp_;
  rel::TxBatch batch_;
  std::vector<std::pair<rel::PeerId, rel::LinkId>> broken_;  // of the batch
  std::size_t step_ = 0;
  Instant now_, resting_until_, computing_until_, finished_at_ = kNever;
  bool was_computing_ = false;  // since the last turn of the program
  std::uint64_t most_buffered_ = 0, idle_turns_ = 0;
  std::uint64_t sent_ = 0;  // datagrams
  std::uint64_t refused_ = 0;
  bool resting_ = false, blocked_ = false;
};

}  // namespace herald::sim
