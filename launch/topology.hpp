// SPDX-License-Identifier: BSD-3-Clause
// launch/topology.hpp: the processors of this machine in groups, and which of them each rank gets. Pure but
// for read_topology().
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace herald::launch {

enum class Unit { hwthread, core, l3cache, numa, socket, node };

// One hardware thread, with the numbers of its groups; the same number is the same group.
struct Processor {
  int cpu = 0, core = 0, l3 = 0, numa = 0, socket = 0;
  int group(Unit unit) const;
};

// The processors that this process may use: by hwloc, or without it by /sys; `root` takes the place of both.
std::vector<Processor> read_topology(const std::vector<int>& allowed, const std::string& root = "");

std::optional<Unit> unit_of(const std::string& name);

// How ranks are mapped: --map-by UNIT, UNIT:PE=N, ppr:N:UNIT, with :HWTCPUS.
struct Mapping {
  Unit unit = Unit::core;
  std::int64_t cores = 1;     // of each rank (PE=)
  std::int64_t per_unit = 0;  // ranks on each unit, one unit after the other; 0: one on each in turn
  bool binds = false;         // PE= was given
  bool hwthreads = false;     // each hardware thread counts as a core
};
// Throws UsageError for other words.
Mapping parse_mapping(const std::string& text);

// In the order of mapping.
struct Places {
  std::vector<std::vector<int>> cpus;  // empty: ranks are not bound
  std::vector<int> first;  // the processor that each place begins with, before --bind-to widens it
  std::string note;        // why ranks are not bound
};
// `bind_to`: as the option; empty: not given. Throws UsageError if ppr:N:UNIT has too few places.
Places place_ranks(const std::vector<Processor>& machine, Mapping mapping, const std::string& bind_to,
                   int ranks);

// How many units of the kind there are.
std::size_t count_units(const std::vector<Processor>& machine, Unit unit);

// "[BB/..][../..]": sockets, cores and hardware threads; B: the rank runs there.
std::string picture(const std::vector<Processor>& machine, const std::vector<int>& cpus);

}  // namespace herald::launch
