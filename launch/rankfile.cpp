// SPDX-License-Identifier: BSD-3-Clause
#include "rankfile.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::int64_t kMostCores = 1 << 16;

// "0-1,3" -> 0 1 3; nothing: malformed.
std::optional<std::vector<int>> parse_cores(const std::string& text) {
  std::vector<int> out;
  for (const std::string& part : split(text, ",")) {
    const std::size_t dash = part.find('-');
    const auto first = to_int(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : to_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMostCores) return std::nullopt;
    for (auto core = *first; core <= *last; ++core) out.push_back(static_cast<int>(core));
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

// Processors by the number of a socket or core, in ascending order of their first processor.
std::map<int, std::vector<Processor>> groups(const std::vector<Processor>& machine, Unit unit) {
  std::vector<int> order;
  std::map<int, std::vector<Processor>> out;
  for (const Processor& each : machine) {
    auto found = std::find(order.begin(), order.end(), each.group(unit));
    if (found == order.end()) found = order.insert(order.end(), each.group(unit));
    out[static_cast<int>(found - order.begin())].push_back(each);
  }
  return out;
}

std::string without_blanks_and_comment(std::string line) {
  line.resize(std::min(line.size(), line.find('#')));
  for (char& c : line) c = std::isspace(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
  return join(split(line, " "), " ");
}

}  // namespace

std::vector<RankPlace> parse_rankfile(const std::string& text, const std::string& file) {
  std::map<std::int64_t, RankPlace> places;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string words = without_blanks_and_comment(line);
    if (words.empty()) continue;
    const auto wrong = [&](const std::string& why) {
      return UsageError(cat("--rankfile ", file, ", line ", number, ": ", why));
    };
    const std::vector<std::string> parts = split(words, " ");
    const std::string where = parts.size() > 1 ? parts[1] : "";
    const std::size_t equals = where.find('=');
    const auto rank = to_int(where.substr(0, equals));
    if (parts[0] != "rank" || parts.size() > 3 || equals == std::string::npos || !rank || *rank < 0 ||
        *rank >= kMostRanks || equals + 1 == where.size())
      throw wrong("write rank N=HOST slot=CORES");
    RankPlace place{where.substr(equals + 1), {}};
    if (parts.size() == 3) {
      if (!parts[2].starts_with("slot=")) throw wrong("write rank N=HOST slot=CORES");
      place.slot = parts[2].substr(5);
      const std::size_t colon = place.slot.find(':');
      const std::string cores = colon == std::string::npos ? place.slot : place.slot.substr(colon + 1);
      if (!parse_cores(cores) || (colon != std::string::npos && !to_int(place.slot.substr(0, colon))))
        throw wrong(cat("slot=", place.slot, ": write numbers of cores (0-1,3) or SOCKET:CORES"));
    }
    if (!places.emplace(*rank, place).second) throw wrong(cat("rank ", *rank, " is there twice"));
  }
  std::vector<RankPlace> out;
  for (auto& [rank, place] : places) {
    if (rank != static_cast<std::int64_t>(out.size()))
      throw UsageError(cat("--rankfile ", file, ": rank ", out.size(), " is missing"));
    out.push_back(std::move(place));
  }
  if (out.empty()) throw UsageError(cat("--rankfile ", file, ": it names no rank"));
  return out;
}

HostList rankfile_hosts(std::vector<RankPlace>& places, const HostList& given) {
  HostList out;
  for (RankPlace& place : places) {
    if (place.host.starts_with("+n")) {
      const auto index = to_int(std::string_view(place.host).substr(2));
      if (!index || *index < 0 || *index >= static_cast<std::int64_t>(given.hosts.size()))
        throw UsageError(
            cat("--rankfile: ", place.host, ": the host list has ", given.hosts.size(), " hosts"));
      place.host = given.hosts[static_cast<std::size_t>(*index)].name;
    }
    const auto found = std::find_if(out.hosts.begin(), out.hosts.end(),
                                    [&](const Host& host) { return host.name == place.host; });
    if (found != out.hosts.end())
      ++found->slots;
    else
      out.hosts.push_back({place.host, 1});
  }
  return out;
}

std::vector<std::vector<int>> rankfile_ranks(const std::vector<RankPlace>& places, const HostList& list) {
  std::vector<std::vector<int>> out(list.hosts.size());
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    for (std::size_t i = 0; i < list.hosts.size(); ++i)
      if (list.hosts[i].name == places[rank].host) out[i].push_back(static_cast<int>(rank));
  return out;
}

std::vector<int> slot_cpus(const std::vector<Processor>& machine, const std::string& slot) {
  std::vector<Processor> within = machine;
  const std::size_t colon = slot.find(':');
  const auto missing = [&](const std::string& what) {
    return UsageError(
        cat("--rankfile: slot=", slot, ": there is no ", what, " here, or it is not ours to use"));
  };
  if (colon != std::string::npos) {
    const auto sockets = groups(machine, Unit::socket);
    const auto found = sockets.find(static_cast<int>(to_int(slot.substr(0, colon)).value_or(-1)));
    if (found == sockets.end()) throw missing(cat("socket ", slot.substr(0, colon)));
    within = found->second;
  }
  const auto cores = groups(within, Unit::core);
  std::vector<int> out;
  for (const int core : parse_cores(slot.substr(colon + 1)).value_or(std::vector<int>{})) {
    const auto found = cores.find(core);
    if (found == cores.end()) throw missing(cat("core ", core));
    for (const Processor& each : found->second) out.push_back(each.cpu);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace herald::launch
