// SPDX-License-Identifier: BSD-3-Clause
#include "topology.hpp"

#include <algorithm>
#include <map>

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
  Numbers cores, caches;
  std::vector<Processor> out;
  for (const int cpu : allowed) {
    const std::string folder = cat(root, "/devices/system/cpu/cpu", cpu);
    const std::string siblings = first_line(folder + "/topology/thread_siblings_list");
    const std::string cache = first_line(folder + "/cache/index3/shared_cpu_list");
    Processor each;
    each.cpu = cpu;
    each.socket = static_cast<int>(to_int(first_line(folder + "/topology/physical_package_id")).value_or(0));
    each.core = cores.of(siblings.empty() ? cat(cpu) : siblings);
    each.l3 = caches.of(cache.empty() ? cat("socket ", each.socket) : cache);
    each.numa = numa_of(root, cpu);
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
            "ppr:N:UNIT"));
  };
  if (words.empty()) throw wrong();
  if (words[0] == "ppr") {
    if (words.size() < 3) throw wrong();
    out.per_unit = to_int(words[1]).value_or(0);
    if (out.per_unit < 1) throw wrong();
    words.erase(words.begin(), words.begin() + 2);
  }
  const auto unit = words.empty() ? std::nullopt : unit_of(words[0]);
  if (unit) {
    out.unit = *unit;
    words.erase(words.begin());
  } else if (out.per_unit > 0) {
    throw wrong();
  }
  for (std::string word : words) {  // modifiers
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word == "oversubscribe" || word == "nooversubscribe" || word == "span") continue;
    out.cores = word.starts_with("pe=") ? to_int(word.substr(3)).value_or(0) : 0;
    out.binds = true;
    if (out.cores < 1) throw wrong();
  }
  return out;
}

Places place_ranks(const std::vector<Processor>& machine, const Mapping& mapping, const std::string& bind_to,
                   int ranks) {
  Places out;
  const std::string what = bind_to.substr(0, bind_to.find(':'));
  if (what == "none" || (what.empty() && !mapping.binds)) return out;
  const std::optional<Unit> bind = what.empty() ? Unit::core : unit_of(what);
  if (!bind)
    throw UsageError(cat("--bind-to ", bind_to, ": write none, hwthread, core, l3cache, numa or socket"));
  if (*bind == Unit::node) return out;
  const bool threads = mapping.unit == Unit::hwthread || (*bind == Unit::hwthread && !mapping.binds);
  // Ranks on cores follow each other through the machine; on larger units they take turns.
  const auto units = groups_of(machine, mapping.unit == Unit::core || threads ? Unit::node : mapping.unit);
  std::vector<std::size_t> used(units.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const std::size_t unit =
        mapping.per_unit > 0 ? index / static_cast<std::size_t>(mapping.per_unit) : index % units.size();
    if (unit >= units.size()) {
      out.note = cat("more ranks than places: ", ranks, " ranks; ranks are not bound");
      break;
    }
    const auto step = static_cast<std::size_t>(mapping.cores);
    std::vector<Processor> own;
    if (threads && used[unit] < units[unit].size()) own = {units[unit][used[unit]]};
    if (!threads) own = cores_of(units[unit], used[unit], step);
    used[unit] += threads ? 1 : step;
    if (*bind > Unit::core && own.empty()) own = units[unit];  // they share it
    if (own.empty()) {
      out.note = cat(ranks, " ranks for ", groups_of(machine, threads ? Unit::hwthread : Unit::core).size(),
                     " cores; ranks are not bound");
      break;
    }
    if (*bind > Unit::core)
      for (const auto& group : groups_of(machine, *bind))
        if (group[0].group(*bind) == own[0].group(*bind)) own = group;
    out.cpus.push_back(cpus_of(own));
  }
  if (!out.note.empty()) out.cpus.clear();
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
