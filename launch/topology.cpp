// SPDX-License-Identifier: BSD-3-Clause
#include "topology.hpp"

#include <algorithm>
#include <map>

#include "hwloc_reader.hpp"
#include "machine.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

// Numbers words in the order in which they come.
class Numbers {
 public:
  int of(const std::string& word) {
    return numbers_.try_emplace(word, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, int> numbers_;
};

bool contains(const std::string& list, int cpu) {
  for (const std::string& range : split(list, ",")) {
    const std::size_t dash = range.find('-');
    const auto first = to_int(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : to_int(range.substr(dash + 1));
    if (first && last && cpu >= *first && cpu <= *last) return true;
  }
  return false;
}

int numa_of(const std::string& root, int cpu) {
  for (int node = 0; node < 1024; ++node) {
    const std::string list = first_line(cat(root, "/devices/system/node/node", node, "/cpulist"));
    if (contains(list, cpu)) return node;
    if (list.empty() && node > 64) break;
  }
  return 0;
}

// The groups of a kind, each with its processors, in the order of the machine.
std::vector<std::vector<Processor>> groups_of(const std::vector<Processor>& machine, Unit unit) {
  std::map<int, std::vector<Processor>> groups;
  for (const Processor& each : machine) groups[each.group(unit)].push_back(each);
  std::vector<std::vector<Processor>> out;
  for (auto& [number, group] : groups) out.push_back(std::move(group));
  return out;
}

std::vector<Processor> with_threads_as_cores(std::vector<Processor> machine) {
  for (Processor& each : machine) each.core = each.cpu;
  return machine;
}

std::string name_of(Unit unit) {
  switch (unit) {
    case Unit::hwthread: return "hardware thread";
    case Unit::core: return "core";
    case Unit::l3cache: return "L3 cache";
    case Unit::numa: return "NUMA node";
    case Unit::socket: return "socket";
    case Unit::node: return "host";
  }
  return {};
}

// The reason why ranks with so many cores each do not fit.
std::string too_few_cores(int ranks, std::size_t step, std::size_t cores, Unit unit, const char* kind) {
  const std::size_t needed = static_cast<std::size_t>(ranks) * step;
  if (needed > cores && step == 1)
    return cat(ranks, " ranks for ", cores, " ", kind, "; ranks are not bound");
  if (needed > cores)
    return cat(ranks, ranks == 1 ? " rank" : " ranks", " with ", step, " ", kind, " each need ", needed, " ",
               kind, ", and there are ", cores, "; ranks are not bound");
  return cat(ranks, ranks == 1 ? " rank" : " ranks", " with ", step, " ", kind, " each do not fit into the ",
             cores, " ", kind, ", when no rank has ", kind, " of more than one ", name_of(unit),
             "; ranks are not bound");
}

std::vector<int> cpus_of(const std::vector<Processor>& group) {
  std::vector<int> out;
  for (const Processor& each : group) out.push_back(each.cpu);
  return out;
}

// The processors of `count` cores of a group, the `first` ones left out; empty: there are not so many.
std::vector<Processor> cores_of(const std::vector<Processor>& group, std::size_t first, std::size_t count) {
  const auto cores = groups_of(group, Unit::core);
  std::vector<Processor> out;
  if (first + count > cores.size()) return out;
  for (std::size_t i = first; i < first + count; ++i) out.insert(out.end(), cores[i].begin(), cores[i].end());
  return out;
}

void check_places(const Mapping& mapping, std::size_t units, int ranks) {
  const auto places = static_cast<std::int64_t>(units) * mapping.per_unit;
  if (mapping.per_unit > 0 && ranks > places)
    throw UsageError(cat("--map-by ppr with ", mapping.per_unit, " for each ", name_of(mapping.unit),
                         ": this host takes ", places, " of its ", ranks,
                         " ranks; start fewer on it (--ppn N), or map without ppr"));
}

// All processors of the units that contain these processors.
std::vector<Processor> widened(const std::vector<Processor>& machine, const std::vector<Processor>& own,
                               Unit unit) {
  std::vector<Processor> out;
  for (const Processor& each : machine) {
    const auto same = [&](const Processor& one) {
      const auto found = std::find_if(machine.begin(), machine.end(),
                                      [&](const Processor& other) { return other.cpu == one.cpu; });
      return found != machine.end() && found->group(unit) == each.group(unit);
    };
    if (std::any_of(own.begin(), own.end(), same)) out.push_back(each);
  }
  return out;
}

}  // namespace

int Processor::group(Unit unit) const {
  switch (unit) {
    case Unit::hwthread: return cpu;
    case Unit::core: return core;
    case Unit::l3cache: return l3;
    case Unit::numa: return numa;
    case Unit::socket: return socket;
    case Unit::node: return 0;
  }
  return 0;
}

std::vector<Processor> read_topology(const std::vector<int>& allowed, const std::string& root) {
  if (root.empty())
    if (std::vector<Processor> known = read_hwloc(allowed); !known.empty()) return known;
  const std::string system = root.empty() ? "/sys" : root;
  Numbers cores, caches;
  std::vector<Processor> out;
  for (const int cpu : allowed) {
    const std::string folder = cat(system, "/devices/system/cpu/cpu", cpu);
    const std::string siblings = first_line(folder + "/topology/thread_siblings_list");
    const std::string cache = first_line(folder + "/cache/index3/shared_cpu_list");
    Processor each;
    each.cpu = cpu;
    each.socket = static_cast<int>(to_int(first_line(folder + "/topology/physical_package_id")).value_or(0));
    each.core = cores.of(siblings.empty() ? cat(cpu) : siblings);
    each.l3 = caches.of(cache.empty() ? cat("socket ", each.socket) : cache);
    each.numa = numa_of(system, cpu);
    out.push_back(each);
  }
  return out;
}

std::optional<Unit> unit_of(const std::string& name) {
  static const std::map<std::string, Unit> kUnits{{"hwthread", Unit::hwthread}, {"core", Unit::core},
                                                  {"slot", Unit::core},         {"l3cache", Unit::l3cache},
                                                  {"numa", Unit::numa},         {"socket", Unit::socket},
                                                  {"package", Unit::socket},    {"node", Unit::node}};
  const auto found = kUnits.find(name);
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

Mapping parse_mapping(const std::string& text) {
  Mapping out;
  std::vector<std::string> words = split(text, ":");
  const auto wrong = [&] {
    return UsageError(
        cat("--map-by ", text,
            ": write slot, hwthread, core, l3cache, numa, socket or node, with :PE=N for N cores each, or "
            "ppr:N:UNIT; modifiers are OVERSUBSCRIBE, NOOVERSUBSCRIBE, SPAN and HWTCPUS"));
  };
  if (words.empty()) throw wrong();
  if (words[0] == "ppr") {
    if (words.size() < 3) throw wrong();
    out.per_unit = to_int(words[1]).value_or(0);
    if (out.per_unit < 1) throw wrong();
    words.erase(words.begin(), words.begin() + 2);
  }
  for (std::string& word : words)
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto unit = words.empty() ? std::nullopt : unit_of(words[0]);
  if (unit) {
    out.unit = *unit;
    words.erase(words.begin());
  } else if (out.per_unit > 0) {
    throw wrong();
  }
  for (const std::string& word : words) {  // modifiers
    if (word == "oversubscribe" || word == "nooversubscribe" || word == "span") continue;
    if (word == "hwtcpus" || word == "corecpus") {
      out.hwthreads = word == "hwtcpus";
      continue;
    }
    out.cores = word.starts_with("pe=") ? to_int(word.substr(3)).value_or(0) : 0;
    out.binds = true;
    if (out.cores < 1) throw wrong();
  }
  return out;
}

std::size_t count_units(const std::vector<Processor>& machine, Unit unit) {
  return groups_of(machine, unit).size();
}

Places place_ranks(const std::vector<Processor>& machine, Mapping mapping, const std::string& bind_to,
                   int ranks) {
  Places out;
  const std::size_t colon = bind_to.find(':');
  const std::string what = bind_to.substr(0, colon);
  // Hydra's core:N; another modifier is no number.
  const std::int64_t bound_cores =
      colon == std::string::npos ? 0 : to_int(bind_to.substr(colon + 1)).value_or(0);
  const std::optional<Unit> bind = what.empty() || what == "none" ? Unit::core : unit_of(what);
  if (!bind || (bound_cores != 0 && (bound_cores < 0 || *bind != Unit::core)))
    throw UsageError(
        cat("--bind-to ", bind_to, ": write none, hwthread, core, core:N, l3cache, numa or socket"));
  if (bound_cores > 0) mapping.cores = bound_cores;
  const bool threads =
      mapping.unit == Unit::hwthread || mapping.hwthreads || (*bind == Unit::hwthread && !mapping.binds);
  // Ranks on cores follow each other through the machine; on larger units they take turns.
  const bool on_cores = mapping.unit <= Unit::core;
  auto units = groups_of(mapping.hwthreads ? with_threads_as_cores(machine) : machine,
                         on_cores && mapping.per_unit == 0 ? Unit::node : mapping.unit);
  if (threads)
    for (auto& unit : units) unit = with_threads_as_cores(std::move(unit));
  check_places(mapping, units.size(), ranks);
  if (what == "none" || (what.empty() && !mapping.binds) || *bind == Unit::node) return out;
  const auto step = static_cast<std::size_t>(mapping.cores);
  std::vector<std::size_t> used(units.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const std::size_t unit =
        mapping.per_unit > 0 ? index / static_cast<std::size_t>(mapping.per_unit) : index % units.size();
    std::vector<Processor> own = cores_of(units[unit], used[unit], step);
    used[unit] += step;
    const bool share = *bind > Unit::core || (on_cores && mapping.per_unit > 0 && step == 1);
    if (share && own.empty()) own = units[unit];
    if (own.empty()) {
      const char* const kind = threads ? "hardware threads" : "cores";
      const std::size_t all = count_units(machine, threads ? Unit::hwthread : Unit::core);
      out = {{}, {}, too_few_cores(ranks, step, all, mapping.unit, kind)};
      break;
    }
    out.first.push_back(own[0].cpu);
    // A rank on a hardware thread that is bound to its core gets all threads of it.
    if (*bind > Unit::core || (what == "core" && threads)) own = widened(machine, own, *bind);
    out.cpus.push_back(cpus_of(own));
  }
  return out;
}

std::string picture(const std::vector<Processor>& machine, const std::vector<int>& cpus) {
  std::string text;
  for (const auto& socket : groups_of(machine, Unit::socket)) {
    text += '[';
    const auto cores = groups_of(socket, Unit::core);
    for (std::size_t i = 0; i < cores.size(); ++i) {
      if (i > 0) text += '/';
      for (const Processor& each : cores[i])
        text += std::find(cpus.begin(), cpus.end(), each.cpu) != cpus.end() ? 'B' : '.';
    }
    text += ']';
  }
  return text;
}

}  // namespace herald::launch
