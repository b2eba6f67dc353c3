// SPDX-License-Identifier: BSD-3-Clause
#include "binding.hpp"

#include <algorithm>
#include <string_view>

#include "machine.hpp"
#include "rankfile.hpp"
#include "ranking.hpp"
#include "text.hpp"
#include "topology.hpp"

namespace herald::launch {
namespace {

constexpr std::string_view kRankfile = "rankfile:";

void report_binding(const JobPlan& plan, const std::vector<Processor>& machine, int rank,
                    std::vector<std::string>& notes) {
  notes.push_back(cat("rank ", plan.number_of(rank), " on ", plan.host, ": ",
                      plan.bind.empty() ? cat(picture(machine, {}), " not bound")
                                        : picture(machine, plan.bind[static_cast<std::size_t>(rank)])));
}

void bind_by_rankfile(JobPlan& plan, const std::vector<Processor>& machine,
                      const std::vector<std::string>& slots) {
  for (int rank = 0; rank < plan.size; ++rank) {
    const std::string slot =
        static_cast<std::size_t>(rank) < slots.size() ? slots[static_cast<std::size_t>(rank)] : "any";
    plan.bind.push_back(slot == "any" ? allowed_cpus() : slot_cpus(machine, slot));
  }
}

void bind_by_mapping(JobPlan& plan, const std::vector<Processor>& machine, const Binding& by,
                     std::vector<std::string>& notes) {
  const Mapping mapping = by.map_by.empty() ? Mapping{} : parse_mapping(by.map_by);
  const Places places = place_ranks(machine, mapping, by.bind_to, plan.size);
  if (!places.note.empty())
    notes.push_back(cat(by.bind_to.empty() ? cat("--map-by ", by.map_by) : cat("--bind-to ", by.bind_to),
                        ": ", places.note));
  std::vector<int> programs;
  for (const AppPlan& app : plan.apps) programs.push_back(app.count);
  for (const std::size_t place : number_by_place(machine, places, programs, mapping.unit, by.rank_by))
    plan.bind.push_back(places.cpus[place]);
}

UsageError too_many(std::int64_t ranks, const std::string& host, std::int64_t slots, const char* what,
                    const std::string& cure) {
  return UsageError(cat("--nooversubscribe: host ", host, " has ", slots, " ", what, slots == 1 ? "" : "s",
                        " for ", ranks, " ranks; start fewer ranks", cure,
                        ", or leave --nooversubscribe out"));
}

std::string more_slots(const std::string& host, std::int64_t ranks) {
  return cat(", give it more slots (--host ", host, ":", ranks, ")");
}

const char* slot_kind(const MappingSpec& mapping) { return mapping.hwthreads ? "hardware thread" : "core"; }

}  // namespace

std::int64_t places_here(const MappingSpec& mapping) {
  const std::string words = mapping.map_by();
  const Mapping parsed = words.empty() ? Mapping{} : parse_mapping(words);
  if (parsed.per_unit > 0)
    return parsed.per_unit *
           static_cast<std::int64_t>(count_units(read_topology(allowed_cpus()), parsed.unit));
  return std::max<std::int64_t>(1, available_cores(mapping.hwthreads) / parsed.cores);
}

std::string slots_text(const std::vector<RankPlace>& places, const std::vector<int>& ranks) {
  std::vector<std::string> slots;
  for (const int rank : ranks) {
    const std::string& slot = places[static_cast<std::size_t>(rank)].slot;
    slots.push_back(slot.empty() ? "any" : slot);
  }
  return cat(kRankfile, join(slots, ";"));
}

void bind_ranks(JobPlan& plan, const Binding& by, std::vector<std::string>& notes) {
  const bool report = plan.output.report_bindings, rankfile = by.map_by.starts_with(kRankfile);
  if (by.map_by.empty() && by.bind_to.empty() && !report) return;
  const std::vector<Processor> machine = read_topology(allowed_cpus());
  if (!rankfile)
    bind_by_mapping(plan, machine, by, notes);
  else if (by.bind_to != "none")
    bind_by_rankfile(plan, machine, split(by.map_by.substr(kRankfile.size()), ";"));
  for (int rank = 0; report && rank < plan.size; ++rank) report_binding(plan, machine, rank, notes);
}

void check_slots(const MappingSpec& mapping, const HostList& hosts,
                 const std::vector<std::vector<int>>& ranks) {
  for (std::size_t i = 0; mapping.no_oversubscribe && i < ranks.size(); ++i) {
    const Host& host = hosts.hosts[i];
    const std::int64_t slots = std::max<std::int64_t>(host.slots, 1),
                       here = static_cast<std::int64_t>(ranks[i].size());
    if (here > slots) throw too_many(here, host.name, slots, "slot", more_slots(host.name, here));
  }
}

void check_slots_here(const MappingSpec& mapping, const HostList& hosts, std::int64_t ranks) {
  if (!mapping.no_oversubscribe) return;
  const std::int64_t cores = available_cores(mapping.hwthreads);
  if (hosts.hosts.empty() && ranks > cores) throw too_many(ranks, host_name(), cores, slot_kind(mapping), "");
  if (!hosts.hosts.empty() && ranks > hosts.slots())
    throw too_many(ranks, hosts.names(), hosts.slots(), "slot", more_slots(hosts.hosts[0].name, ranks));
}

std::vector<std::string> describe_allocation(const MappingSpec& mapping, const HostList& hosts,
                                             std::int64_t host_count) {
  const auto line = [](const std::string& host, std::int64_t slots) {
    return cat("host ", host, ": ", slots, slots == 1 ? " slot" : " slots");
  };
  if (hosts.hosts.empty() && host_count > 1)
    return {cat("allocation: ", host_count, " hosts of Slurm, which knows their names and slots")};
  if (hosts.hosts.empty()) return {line(host_name(), available_cores(mapping.hwthreads))};
  std::vector<std::string> out;
  for (const Host& host : hosts.hosts) out.push_back(line(host.name, std::max<std::int64_t>(host.slots, 1)));
  return out;
}

}  // namespace herald::launch
