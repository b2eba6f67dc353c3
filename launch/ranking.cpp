// SPDX-License-Identifier: BSD-3-Clause
#include "ranking.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace herald::launch {
namespace {

// The groups in turn, one of each; or, with `whole`, group after group.
std::vector<std::size_t> deal(const std::map<int, std::vector<std::size_t>>& groups, bool whole) {
  std::vector<std::size_t> out;
  std::size_t longest = 0;
  for (const auto& [number, group] : groups) {
    longest = std::max(longest, group.size());
    if (whole) out.insert(out.end(), group.begin(), group.end());
  }
  for (std::size_t turn = 0; turn < longest && !whole; ++turn)
    for (const auto& [number, group] : groups)
      if (turn < group.size()) out.push_back(group[turn]);
  return out;
}

}  // namespace

std::vector<std::vector<int>> number_by_host(const std::vector<std::vector<int>>& mapped,
                                             const std::vector<int>& programs, const std::string& rank_by) {
  if (rank_by.empty()) return mapped;
  std::vector<std::vector<int>> out(mapped.size());
  int rank = 0;
  for (const int size : programs) {
    const int first = rank, end = rank + size;
    std::map<int, std::vector<std::size_t>> hosts;  // each process of the program, as its host
    for (std::size_t host = 0; host < mapped.size(); ++host)
      for (const int process : mapped[host])
        if (process >= first && process < end) hosts[static_cast<int>(host)].push_back(host);
    for (const std::size_t host : deal(hosts, rank_by != "node")) out[host].push_back(rank++);
  }
  return out;
}

std::vector<std::size_t> number_by_place(const std::vector<Processor>& machine, const Places& places,
                                         const std::vector<int>& programs, Unit mapped_by,
                                         const std::string& rank_by) {
  std::vector<std::size_t> out(places.first.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  const auto unit = rank_by == "fill" ? std::optional(mapped_by) : unit_of(rank_by);
  if (!unit || *unit == Unit::node || rank_by == "slot") return out;
  std::map<int, int> group_of;  // by processor
  for (const Processor& each : machine) group_of[each.cpu] = each.group(*unit);
  std::size_t begin = 0;
  for (const int size : programs) {
    const std::size_t end = std::min(begin + static_cast<std::size_t>(size), out.size());
    std::map<int, std::vector<std::size_t>> groups;
    for (std::size_t place = begin; place < end; ++place)
      groups[group_of[places.first[place]]].push_back(place);
    const std::vector<std::size_t> dealt = deal(groups, rank_by == "fill");
    std::copy(dealt.begin(), dealt.end(), out.begin() + static_cast<std::ptrdiff_t>(begin));
    begin = end;
  }
  return out;
}

}  // namespace herald::launch
