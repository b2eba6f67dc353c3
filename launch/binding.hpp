// SPDX-License-Identifier: BSD-3-Clause
// launch/binding.hpp: how many ranks fit on this machine and on each host, and the cores of each rank here.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host_plan.hpp"
#include "hosts.hpp"
#include "plan.hpp"
#include "spec.hpp"

namespace herald::launch {

// How many ranks run here when neither -n nor a list of hosts says it.
std::int64_t places_here(const MappingSpec& mapping);

// The slots of the ranks of one host, in their order: how a rankfile travels as Binding::map_by.
std::string slots_text(const std::vector<RankPlace>& places, const std::vector<int>& ranks);

// Binds the ranks of this host, and describes it if asked for.
void bind_ranks(JobPlan& plan, const Binding& by, std::vector<std::string>& notes);

// Throw UsageError if --nooversubscribe forbids it. Without a list of hosts, cores are the slots.
void check_slots(const MappingSpec& mapping, const HostList& hosts,
                 const std::vector<std::vector<int>>& ranks);
void check_slots_here(const MappingSpec& mapping, const HostList& hosts, std::int64_t ranks);

// A line for each host, for --display-allocation. `host_count`: of an allocation that names no host here.
std::vector<std::string> describe_allocation(const MappingSpec& mapping, const HostList& hosts,
                                             std::int64_t host_count);

}  // namespace herald::launch
