// SPDX-License-Identifier: BSD-3-Clause
// tools/trace.cpp: `herald trace`: merges the timelines that processes wrote (HERALD_TRACE) in order of time,
// and prints a summary of each. Times in a file count from the end of start-up, which is assumed to be the
// same moment for all; processes with the same clock (the file names it) are aligned exactly.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"

namespace herald::tools {
namespace {

using Json = nlohmann::json;

struct Timeline {
  std::string file;
  int rank = 0;
  std::string host, clock;
  std::int64_t start_ns = 0, lost = 0;
  Json events;
};

struct Options {
  std::vector<std::string> files;
  std::string out;
};

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "herald trace: {}\n", why);
  throw CLI::RuntimeError(1);
}

Timeline read(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail(fmt::format("{} cannot be read", path));
  Json all = Json::parse(in, nullptr, false);
  if (all.is_discarded() || !all.is_object() || !all.contains("herald") || !all.contains("traceEvents") ||
      !all["traceEvents"].is_array())
    fail(fmt::format("{} is not a timeline of a process: set HERALD_TRACE when the program runs", path));
  const Json& facts = all["herald"];
  if (!facts.contains("start_ns"))
    fail(fmt::format("{} is merged already: give the files of the processes", path));
  Timeline line;
  line.file = path;
  line.rank = facts.value("rank", 0);
  line.host = facts.value("host", "");
  line.clock = facts.value("clock", "");
  line.start_ns = facts.value("start_ns", std::int64_t{0});
  line.lost = facts.value("lost", std::int64_t{0});
  line.events = std::move(all["traceEvents"]);
  return line;
}

std::vector<Timeline> read_all(const std::vector<std::string>& files) {
  std::vector<Timeline> lines;
  for (const std::string& file : files) lines.push_back(read(file));
  std::sort(lines.begin(), lines.end(), [](const Timeline& x, const Timeline& y) { return x.rank < y.rank; });
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (lines[i].rank == lines[i - 1].rank)
      fail(fmt::format("rank {} is in {} and in {}: files of different jobs?", lines[i].rank,
                       lines[i - 1].file, lines[i].file));
  return lines;
}

bool is_metadata(const Json& event) { return event.value("ph", "") == "M"; }

// All events: first those that name processes, then the others by time.
Json join(std::vector<Timeline>& lines) {
  std::map<std::string, std::int64_t> first;  // by clock: its earliest start
  for (const Timeline& line : lines) {
    const auto at = first.try_emplace(line.clock, line.start_ns).first;
    at->second = std::min(at->second, line.start_ns);
  }
  std::vector<Json> events;
  for (Timeline& line : lines) {
    const double shift = static_cast<double>(line.start_ns - first[line.clock]) / 1e3;
    for (Json& event : line.events) {
      if (event.contains("ts")) event["ts"] = event["ts"].get<double>() + shift;
      events.push_back(std::move(event));
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Json& x, const Json& y) {
    if (is_metadata(x) != is_metadata(y)) return is_metadata(x);
    return x.value("ts", 0.0) < y.value("ts", 0.0);
  });
  return events;
}

void summarise(const std::vector<Timeline>& lines) {
  fmt::print("{:>5}  {:<16}{:>9}{:>14}{:>10}{:>14}{:>13}{:>12}{:>9}{:>8}\n", "rank", "host", "sends", "bytes",
             "receives", "bytes", "collectives", "waiting ms", "resent", "lost");
  for (const Timeline& line : lines) {
    std::int64_t sends = 0, sent = 0, receives = 0, received = 0, collectives = 0, resent = 0;
    double waiting = 0;
    for (const Json& event : line.events) {
      const std::string name = event.value("name", ""), phase = event.value("ph", "");
      const Json args = event.value("args", Json::object());
      if (name == "send" && phase == "b") ++sends, sent += args.value("bytes", std::int64_t{0});
      if (name == "receive" && phase == "e") ++receives, received += args.value("bytes", std::int64_t{0});
      if (name == "collective" && phase == "b") ++collectives;
      if (name == "wait") waiting += event.value("dur", 0.0) / 1e3;
      if (name == "resent") resent += args.value("packets", std::int64_t{0});
    }
    fmt::print("{:>5}  {:<16}{:>9}{:>14}{:>10}{:>14}{:>13}{:>12.3f}{:>9}{:>8}\n", line.rank, line.host, sends,
               sent, receives, received, collectives, waiting, resent, line.lost);
  }
}

void trace(const Options& options) {
  std::vector<Timeline> lines = read_all(options.files);
  summarise(lines);
  for (const Timeline& line : lines)
    if (line.lost != 0) {
      fmt::print("some ranks lost their first events: a larger HERALD_TRACE_EVENTS keeps more\n");
      break;
    }
  if (options.out.empty()) return;
  const auto ranks = lines.size();
  const Json all = {{"displayTimeUnit", "ns"}, {"herald", {{"ranks", ranks}}}, {"traceEvents", join(lines)}};
  std::ofstream out(options.out);
  out << all.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  out.close();
  if (!out) fail(fmt::format("{} could not be written", options.out));
  fmt::print("written to {}: open it with https://ui.perfetto.dev or chrome://tracing\n", options.out);
}

}  // namespace

void add_trace(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "trace", "merge the timelines of processes that ran with HERALD_TRACE, and summarize them");
  const auto options = std::make_shared<Options>();
  command->add_option("files", options->files, "timelines of the processes")->required();
  command->add_option("-o,--output", options->out, "the merged timeline (Chrome trace JSON, for Perfetto)");
  command->callback([options] { trace(*options); });
}

}  // namespace herald::tools
