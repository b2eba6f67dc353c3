// SPDX-License-Identifier: BSD-3-Clause
// tools/measure/measure.hpp: the parts of herald-measure, the MPI program of `herald model measure`: the
// methods of section 3.2 of Tam and Wang, "Realistic Communication Model for Parallel Computing on Cluster".
#pragma once
#include <mpi.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "model/fit.hpp"
#include "model/text.hpp"

namespace herald::measure {

double now_ns();

// Runs measurements for a share of the time each, and shows how far they are. Collective over all ranks.
class Progress {
 public:
  Progress(bool shown, bool bar) : shown_(shown), bar_(bar) {}
  void begin(const char* what);  // one of kStages
  void finish();
  static constexpr int kStages = 11;

 private:
  const bool shown_, bar_;
  int stage_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Two ranks and, of some measurements, all of them. Ranks of the communicator are on different hosts, or all
// on one.
class Bench {
 public:
  explicit Bench(MPI_Comm comm);
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Each is collective; the result is known to rank 0 only.
  std::vector<model::Point> round_trips(const std::vector<int>& sizes, int pairs, double pause_ns = 0);
  std::vector<model::Point> send_times(const std::vector<int>& sizes);  // O_s, by direct timing
  std::vector<model::Point> receive_times(
      const std::vector<int>& sizes);                                  // U_r, of messages that have arrived
  std::vector<model::Point> slowdowns(const std::vector<int>& sizes);  // O_r, of a control computation
  // Time of a message in a stream from `senders` ranks to rank 0; `both`: rank 0 sends as much to rank 1.
  std::vector<model::Point> gaps(const std::vector<int>& sizes, int senders, bool both = false);
  std::vector<model::Point> cast_gaps(const std::vector<int>& sizes);
  std::vector<model::Point> cast_times(const std::vector<int>& sizes);  // until the last rank has it

 private:
  template <class Body>
  model::Point repeat(double bytes, int runs, Body body);  // body returns ns, at rank 0

  MPI_Comm comm_;
  int rank_ = 0, size_ = 0;
  std::vector<char> buffer_;
};

// Floods the port of rank 0's host with UDP datagrams from all others; B_L in bytes, 0 if nothing was
// dropped. `gap_ratio`: g_s / g_r.
double measure_switch_buffer(MPI_Comm leaders, double gap_ratio);

// Copies, reductions and checksums of this host.
void measure_host(model::Parameters& out);

// Names of hosts, kernel, rate of the link. Known to rank 0.
struct Facts {
  std::vector<std::string> hosts;
  std::string kernel, cluster;
  double link_mbit = 0;
};
Facts gather_facts(MPI_Comm leaders);

// Writes NAME.json and NAME.model into the folder, each whole or not at all. False: `why` says why not.
bool write_files(const model::Measured& measured, const std::string& folder, std::string& json_path,
                 std::string& why);

// Times a collective over sizes, and prints the predictions beside it. One rank per host.
int check_collective(const std::string& which, const std::string& file);

}  // namespace herald::measure
