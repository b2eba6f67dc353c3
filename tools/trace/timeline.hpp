// SPDX-License-Identifier: BSD-3-Clause
// tools/trace/timeline.hpp: timelines of processes (HERALD_TRACE), read and joined.
// Times in a file count from the end of start-up, which is assumed to be the same moment for all; processes
// with the same clock (the file names it) are aligned exactly.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace herald::tools {

using Json = nlohmann::json;

struct Timeline {
  std::string file;
  int rank = 0;
  std::string host, clock;
  std::int64_t start_ns = 0, lost = 0;
  int size = 0;                     // of the job
  double link_mbit = 0, cores = 0;  // 0: not known
  Json events;
};

// By rank. On failure it prints why and throws CLI::RuntimeError.
std::vector<Timeline> read_timelines(const std::vector<std::string>& files);
// Names each call after the operations that it starts: "MPI_Send to 1, 4 bytes, tag 7".
void name_calls(Timeline& line);
// Moves the events out: first those that name processes, then the others by time.
Json join_timelines(std::vector<Timeline>& lines);
// Flow events from the start of each send to the end of its receive, in order of time.
std::vector<Json> find_arrows(const Json& events);
void add_arrows(Json& events);
void sort_by_time(Json& events);
// A page that needs nothing else: rows of ranks, spans, arrows.
std::string make_page(const Json& events);

}  // namespace herald::tools
