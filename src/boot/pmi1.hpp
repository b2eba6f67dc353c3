// SPDX-License-Identifier: BSD-3-Clause
// boot/pmi1.hpp: client of the PMI-1 wire protocol, as used by Hydra, Slurm's pmi2 plugin and our mpiexec.
// One line of text per request and answer. Values are hex, in pieces under the keys h.KEY.RANK.PIECE.
//
//   start() --ok--> serving --finalize()--> closed        abort() works while serving, from any thread
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "boot/boot.hpp"
#include "boot/line_channel.hpp"

namespace herald::boot {

class Pmi1 final : public Boot {
 public:
  Pmi1(int fd, int rank, int size) noexcept : channel_{fd}, rank_{rank}, size_{size} {}

  // The TCP handshake: the launcher answers with rank and size.
  Status introduce(int id);
  // Requests everything that the getters return. The environment is used where the launcher has no host map.
  Status start(char** environment);

  const char* name() const noexcept override { return "pmi1"; }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  int app_number() const noexcept override { return app_number_; }
  int universe_size() const noexcept override { return universe_size_; }
  std::span<const int> local_ranks() const noexcept override { return local_ranks_; }
  Status put(std::string_view key, std::string_view value) override;
  Status fence() override;
  Status get(int rank, std::string_view key, std::string& value) override;
  void abort(const Abort& abort) noexcept override;
  bool can_abort_ranks() const noexcept override { return !job_id_.empty(); }
  bool has_aborted(int rank) const noexcept override;
  Status finalize() override;
  Status publish(std::string_view service, std::string_view port) override;
  Status lookup(std::string_view service, std::string& port) override;
  Status unpublish(std::string_view service) override;
  Status spawn(std::span<const SpawnApp> apps, std::string_view port) override;
  bool has_spawn_ended() override;
  std::string parent_port() override;
  const std::string& last_error() const noexcept override { return error_; }

 private:
  Status request(std::string_view line, std::string_view expected, int timeout_ms);
  Status ask_limits();
  Status get_raw(std::string_view key, std::string& value);
  Status find_local_ranks(char** environment);
  Status key_for(int rank, std::string_view key, std::size_t piece, std::string& out);
  Status refuse(Status status, std::string why) override;
  bool is_good() const;

  LineChannel channel_;
  int rank_;
  int size_;
  int app_number_ = -1;
  int universe_size_ = -1;
  std::size_t longest_key_ = 0;
  std::size_t longest_value_ = 0;
  std::string kvs_;
  std::string job_id_;  // of our mpiexec; empty: another launcher
  std::string reply_;   // the last line that the launcher sent
  std::string error_;
  std::vector<int> local_ranks_;
  std::string spawn_id_;  // of our mpiexec; empty: another launcher
  std::atomic<bool> serving_{false};
};

}  // namespace herald::boot
