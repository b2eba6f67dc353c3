// SPDX-License-Identifier: BSD-3-Clause
// launch/pmi_jobs.hpp: the part of PMI-1 that concerns other jobs: names of ports, and spawned jobs. Pure.
// In:  lines of ranks, or of the servers of hosts for their ranks; how spawned jobs started and ended.
// Out: answers; requests to spawn a job, each with the text of its mcmd=spawn commands.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace herald::launch {

// A client of a server, or a rank behind the server of a host, which is that client.
struct Asker {
  int client = -1;
  int from = -1;  // -1: the client itself
  auto operator<=>(const Asker&) const = default;
};

struct SpawnRequest {
  Asker asker;
  int id = 0;
  std::string text;
};

class PmiJobs {
 public:
  // Whether a line outside of an mcmd is for us.
  static bool takes(std::string_view line);
  bool in_spawn(const Asker& asker) const { return spawning_.count(asker) != 0; }
  // The answer; none: the line has none, or it comes with on_started().
  std::optional<std::string> on_line(const Asker& asker, std::string_view line);

  std::optional<SpawnRequest> take_request();
  // The answers to the request.
  static std::string started(int id);
  static std::string not_started(std::string_view why);
  void on_ended(int id, int code) { ended_[id] = code; }

 private:
  std::optional<std::string> on_spawn_line(const Asker& asker, std::string_view line);

  std::map<std::string, std::string, std::less<>> names_;
  std::map<Asker, std::string> spawning_;  // text so far
  std::deque<SpawnRequest> requests_;
  std::map<int, int> ended_;  // exit codes of spawned jobs
  int next_id_ = 1;
};

// The words of mpiexec's command line for the text of a request, with the port of the parent.
struct SpawnWords {
  std::vector<std::string> words;
  std::string port;
};
SpawnWords spawn_words(std::string_view text);

// The value of `key=` in a line of blank-separated pairs.
std::optional<std::string_view> pmi_field(std::string_view line, std::string_view key,
                                          bool rest_of_line = false);

}  // namespace herald::launch
