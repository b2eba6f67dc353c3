// SPDX-License-Identifier: BSD-3-Clause
// sim/job/process.hpp: one process of a job on a simulated host: p2p::Core, rel::Mesh, rel::Lanes and their
// carriers as the engine joins them, and a script in the user's place.
// In:  turns from the network. Out: datagrams; what became of each operation.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "p2p/carrier.hpp"
#include "p2p/core.hpp"
#include "rel/mesh.hpp"
#include "sim/job/lane_part.hpp"
#include "sim/job/script.hpp"
#include "sim/net/net.hpp"

namespace herald::sim {

struct Send : p2p::SendOp {
  std::unique_ptr<std::byte[]> memory;
  bool recalled = false;
};

struct Recv : p2p::RecvOp {
  std::unique_ptr<std::byte[]> memory;
  bool unwanted = false;  // taken back: no message will come
};

// Lies that the judgement must find out: for tests of the judgement.
enum class Betrayal : std::uint8_t { none, flip, drop, swap, twice };

struct ProcessConfig {
  rel::MeshConfig mesh;    // `me` and `peers` are filled in
  p2p::CoreConfig core;    // `peers` likewise
  rel::LanesConfig lanes;  // `me`, `peers`, seal, datagram_bytes and give_up are the mesh's
  LaneAddresses addresses;
  double refuses = 0;  // packets that are not taken at once
  // While the program computes somebody answers the network so often, in its place; 0: nobody does.
  Duration keep_alive{};
  bool hears_of_links = false;         // the system says so when our own link is down
  Betrayal betrayal = Betrayal::none;  // done once, to the tenth packet
  Duration twitch{};                   // a turn so often, for nothing; 0: no
  bool short_way = false;              // messages of one packet go by Carrier::send_now() where they can
};

// Stands between mesh and carrier, and now and then does not take a packet at once.
class Moody final : public rel::Listener {
 public:
  Moody(rel::Listener& next, Prng& chance, const ProcessConfig& config) noexcept
      : next_(next), chance_(chance), refuses_(config.refuses), betrayal_(config.betrayal) {}
  Status deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept override;
  void returned(rel::PeerId peer, std::uint32_t packets) noexcept override { next_.returned(peer, packets); }
  void peer_lost(rel::PeerId peer) noexcept override { next_.peer_lost(peer); }
  void link_changed(rel::PeerId peer, rel::LinkId link, bool live) noexcept override {
    next_.link_changed(peer, link, live);
  }
  bool refused() const noexcept { return refused_; }       // what was handed in last
  std::uint64_t asked() const noexcept { return asked_; }  // how often, refusals too

 private:
  Status betray(rel::PeerId from, std::vector<std::byte> packet);

  rel::Listener& next_;
  Prng& chance_;
  double refuses_;
  Betrayal betrayal_;
  bool refused_ = false;
  std::uint64_t asked_ = 0;
  int packets_ = 0;
  std::vector<std::byte> kept_;  // to come after the next one
  rel::PeerId kept_from_ = -1;
};

class Process final : public Node {
 public:
  Process(Net& net, const Script& script, HostId me, std::uint64_t seed, const ProcessConfig& config);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void turn(Instant now) override;
  Instant wake_at() const override;

  // All steps are done and all that we sent has been acknowledged.
  bool is_finished() const noexcept { return step_ == steps_.size() && pending_ == 0 && lanes_.all_done(); }
  bool is_flushed() const noexcept { return is_finished() && mesh_.is_flushed() && lanes_.is_flushed(); }
  Instant finished_at() const noexcept { return finished_at_; }
  // The launcher says so.
  void on_death(HostId peer);

  const p2p::Core& core() const noexcept { return core_; }
  const rel::Mesh& mesh() const noexcept { return mesh_; }
  const LanePart& lanes() const noexcept { return lanes_; }
  // Receives in the order in which they were started (or found their message, if probed).
  const std::vector<std::uint32_t>& order() const noexcept { return order_; }
  const Send& send_of(std::uint32_t index) const { return *sends_[index]; }
  const Recv& recv_of(std::uint32_t index) const { return *recvs_[index]; }
  bool has_send(std::uint32_t index) const { return sends_[index] != nullptr; }
  bool has_recv(std::uint32_t index) const { return recvs_[index] != nullptr; }
  std::uint64_t most_buffered() const noexcept { return most_buffered_; }
  std::uint64_t idle_turns() const noexcept { return idle_turns_; }
  std::string state() const;

 private:
  void keep_alive(Instant now);
  bool receive(Instant now);
  bool run_steps(Instant now);
  bool run_step(Instant now, const Step& step);
  void compute(Instant now, Duration how_long);
  void start_send(std::uint32_t index);
  bool send_now(std::uint32_t index);
  void put(const rel::Tx& tx);
  void tell_broken(Instant now);
  void start_receive(std::uint32_t index);
  bool look_for_probed();
  void heed(std::uint32_t index);
  bool pump();
  bool transmit(Instant now);
  bool drain_departing();
  void probe_idle_peers(Instant now);
  void lose(HostId peer);
  std::uint8_t link_to(HostId peer, rel::LinkId link) const noexcept;
  rel::LinkId link_from(HostId peer, std::uint8_t link) const noexcept;
  static void on_done(p2p::Op& op);
  static void on_send_done(p2p::Op& op) {  // as in a program: from now on there is something else
    std::fill_n(static_cast<Send&>(op).memory.get(), op.data.total(), std::byte{0xee});
    on_done(op);
  }

  Net& net_;
  const Script& script_;
  const std::vector<Step>& steps_;
  const HostId me_;
  const std::uint64_t seed_;
  const ProcessConfig config_;
  Prng chance_;
  Prng mesh_chance_;
  p2p::Core core_;
  p2p::Carrier carrier_;
  Moody moody_;
  rel::Mesh mesh_;
  LanePart lanes_;
  rel::TxBatch batch_;
  std::vector<std::pair<rel::PeerId, rel::LinkId>> broken_;  // of the batch
  std::vector<std::unique_ptr<Send>> sends_;                 // of the script; null if not ours or not started
  std::vector<std::unique_ptr<Recv>> recvs_;
  std::vector<std::uint32_t> order_, probing_;
  std::size_t step_ = 0;
  Instant now_, resting_until_, computing_until_, left_at_, finished_at_ = kNever;
  bool was_away_ = false;      // since it last took a turn, the program computed
  std::uint64_t pending_ = 0;  // operations that are not done
  std::uint64_t most_buffered_ = 0, idle_turns_ = 0;
  std::uint64_t header_context_ = 0;  // datagrams sent
  Instant next_probe_;
  HostId next_probed_ = 0;
  bool resting_ = false, blocked_ = false;
};

}  // namespace herald::sim
