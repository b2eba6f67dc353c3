// SPDX-License-Identifier: BSD-3-Clause
// tools/trace.cpp: `herald trace`: merges the timelines that processes wrote (HERALD_TRACE), as a file for
// Perfetto and as a page, and prints a summary of each.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>

#include "commands.hpp"
#include "trace/timeline.hpp"

namespace herald::tools {
namespace {

struct TraceOptions {
  std::vector<std::string> files;
  std::string out;
};

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

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) fail("trace", path + " could not be written");
}

void trace(const TraceOptions& options) {
  std::vector<Timeline> lines = read_timelines(options.files);
  summarise(lines);
  for (const Timeline& line : lines)
    if (line.lost != 0) {
      fmt::print("some ranks lost their first events: a larger HERALD_TRACE_EVENTS keeps more\n");
      break;
    }
  if (options.out.empty()) return;
  const auto ranks = lines.size();
  for (Timeline& line : lines) name_calls(line);
  Json events = join_timelines(lines);
  const std::string page = std::filesystem::path(options.out).replace_extension(".html").string();
  if (page != options.out) write_file(page, make_page(events));
  add_arrows(events);
  const Json all = {
      {"displayTimeUnit", "ns"}, {"herald", {{"ranks", ranks}}}, {"traceEvents", std::move(events)}};
  write_file(options.out, all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
  fmt::print(
      "written to {}: open it with https://ui.perfetto.dev or chrome://tracing; {} is a page for any "
      "browser\n",
      options.out, page);
}

}  // namespace

void add_trace(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "trace", "merge the timelines of processes that ran with HERALD_TRACE, and summarize them");
  const auto options = std::make_shared<TraceOptions>();
  command->add_option("files", options->files, "timelines of the processes")->required();
  command->add_option("-o,--output", options->out,
                      "the merged timeline (Chrome trace JSON, for Perfetto), and a page");
  command->callback([options] { trace(*options); });
}

}  // namespace herald::tools
