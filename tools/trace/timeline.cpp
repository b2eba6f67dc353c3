// SPDX-License-Identifier: BSD-3-Clause
#include "trace/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "commands.hpp"

namespace herald::tools {
namespace {

Timeline read(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail("trace", fmt::format("{} cannot be read", path));
  Json all = Json::parse(in, nullptr, false);
  if (all.is_discarded() || !all.is_object() || !all.contains("herald") || !all.contains("traceEvents") ||
      !all["traceEvents"].is_array())
    fail("trace",
         fmt::format("{} is not a timeline of a process: set HERALD_TRACE when the program runs", path));
  const Json& facts = all["herald"];
  if (!facts.contains("start_ns"))
    fail("trace", fmt::format("{} is merged already: give the files of the processes", path));
  Timeline line;
  line.file = path;
  line.rank = facts.value("rank", 0);
  line.host = facts.value("host", "");
  line.clock = facts.value("clock", "");
  line.start_ns = facts.value("start_ns", std::int64_t{0});
  line.lost = facts.value("lost", std::int64_t{0});
  line.size = facts.value("size", 0);
  line.link_mbit = facts.value("link_mbit", 0.0);
  line.cores = facts.value("cores", 0.0);
  line.events = std::move(all["traceEvents"]);
  return line;
}

bool is_metadata(const Json& event) { return event.value("ph", "") == "M"; }

}  // namespace

std::vector<Timeline> read_timelines(const std::vector<std::string>& files) {
  std::vector<Timeline> lines;
  for (const std::string& file : files) lines.push_back(read(file));
  std::sort(lines.begin(), lines.end(), [](const Timeline& x, const Timeline& y) { return x.rank < y.rank; });
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (lines[i].rank == lines[i - 1].rank)
      fail("trace", fmt::format("rank {} is in {} and in {}: files of different jobs?", lines[i].rank,
                                lines[i - 1].file, lines[i].file));
  return lines;
}

Json join_timelines(std::vector<Timeline>& lines) {
  std::map<std::string, std::int64_t> first;  // by clock: its earliest start
  for (const Timeline& line : lines) {
    const auto at = first.try_emplace(line.clock, line.start_ns).first;
    at->second = std::min(at->second, line.start_ns);
  }
  Json events = Json::array();
  for (Timeline& line : lines) {
    const double shift = static_cast<double>(line.start_ns - first[line.clock]) / 1e3;
    for (Json& event : line.events) {
      if (event.contains("ts")) event["ts"] = event["ts"].get<double>() + shift;
      events.push_back(std::move(event));
    }
  }
  sort_by_time(events);
  return events;
}

void sort_by_time(Json& events) {
  auto& all = events.get_ref<Json::array_t&>();
  std::stable_sort(all.begin(), all.end(), [](const Json& x, const Json& y) {
    if (is_metadata(x) != is_metadata(y)) return is_metadata(x);
    return x.value("ts", 0.0) < y.value("ts", 0.0);
  });
}

}  // namespace herald::tools
