// SPDX-License-Identifier: BSD-3-Clause
#include "mapping_options.hpp"

#include <algorithm>
#include <cctype>

#include "text.hpp"
#include "topology.hpp"

namespace herald::launch {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void map_by(MappingSpec& mapping, const std::string& shown, const std::string& text) {
  (void)parse_mapping(text);  // throws if it is not one
  std::vector<std::string> unit;
  for (const std::string& word : split(lower(text), ":")) {
    if (word == "oversubscribe" || word == "nooversubscribe")
      mapping.no_oversubscribe = word == "nooversubscribe";
    else if (word == "span")
      mapping.span = true;
    else if (word == "hwtcpus" || word == "corecpus")
      mapping.hwthreads = word == "hwtcpus";
    else if (word.starts_with("pe="))
      mapping.cores = parse_positive(word.substr(3), cat(shown, " PE="), "cores of a rank", kMostRanks);
    else
      unit.push_back(word);
  }
  if (unit.empty()) return;
  mapping.unit.clear();
  if (unit[0] == "ppr" && unit[2] == "node")
    mapping.ppn = parse_positive(unit[1], cat(shown, " ", text), "processes on a host", kMostRanks);
  else
    mapping.unit = join(unit, ":");
}

void rank_by(MappingSpec& mapping, const std::string& shown, const std::string& text) {
  mapping.rank_by = lower(text);
  if (mapping.rank_by != "fill" && !unit_of(mapping.rank_by))
    throw UsageError(cat(shown, " ", text,
                         ": write slot, fill, node, hwthread, core, l3cache, numa or socket, without "
                         "modifiers"));
}

// Linux places memory at the first touch; a launcher cannot change that for the whole program.
void membind(const std::string& shown, const std::string& text) {
  if (text != "none" && text != "firsttouch")
    throw UsageError(cat(shown, " ", text,
                         " is not supported: start the program with numactl --interleave, --membind or "
                         "--preferred"));
}

}  // namespace

std::string MappingSpec::map_by() const {
  if (unit.empty() && cores == 0 && !hwthreads) return {};
  return cat(unit.empty() ? "slot" : unit, cores > 0 ? cat(":PE=", cores) : "", hwthreads ? ":HWTCPUS" : "");
}

void apply_mapping_option(MappingSpec& mapping, Opt option, const std::string& shown,
                          const std::vector<std::string>& args) {
  switch (option) {
    case Opt::map_by: return map_by(mapping, shown, args[0]);
    case Opt::rank_by: return rank_by(mapping, shown, args[0]);
    case Opt::by_unit: return map_by(mapping, shown, shown.substr(shown.find("by") + 2));
    case Opt::membind: return membind(shown, args[0]);
    case Opt::ppn: mapping.ppn = parse_positive(args[0], shown, "processes on a host", kMostRanks); break;
    case Opt::cores_each:
      mapping.cores = parse_positive(args[0], shown, "cores of a rank", kMostRanks);
      break;
    case Opt::bind_to: mapping.bind_to = lower(args[0]); break;
    case Opt::bind_unit: mapping.bind_to = shown.substr(shown.rfind('-') + 1); break;
    case Opt::hwthread_cpus: mapping.hwthreads = true; break;
    case Opt::no_local: mapping.no_local = true; break;
    case Opt::oversubscribe: mapping.no_oversubscribe = false; break;
    case Opt::no_oversubscribe: mapping.no_oversubscribe = true; break;
    default: break;
  }
}

std::vector<std::string> notes_on_policies(const PassedOn& passed_on) {
  std::vector<std::string> out;
  for (const std::string& name : passed_on.policies)
    out.push_back(cat("parameter ", name, " has no effect here: use --map-by, --rank-by or --bind-to"));
  return out;
}

void check_mapping(const JobSpec& spec) {
  const MappingSpec& mapping = spec.mapping;
  const std::string& manager = spec.resource_manager;
  if (!manager.empty() && manager != "slurm" && manager != "user" && manager != "none" &&
      spec.hosts.empty() && spec.hostfile.empty())
    throw UsageError(cat("--rmk ", manager, ": mpiexec asks Slurm only; name the hosts with --hostfile",
                         manager == "pbs" ? " $PBS_NODEFILE" : ""));
  const bool pretends = spec.pretended_hosts > 0 || spec.pretended_per_host > 0;
  if (pretends && (mapping.by_node() || mapping.rank_by == "node"))
    throw UsageError("--pretend-hosts with ranks by node: write --pretend-hosts /N for N hosts in turn");
  if (spec.rankfile.places.empty()) return;
  if (!mapping.map_by().empty() || mapping.ppn > 0 || !mapping.rank_by.empty() || mapping.no_local)
    throw UsageError(
        "--rankfile says where each rank runs: use it without --map-by, --rank-by, --ppn, --cpus-per-rank, "
        "--use-hwthread-cpus and --nolocal");
  if (!mapping.bind_to.empty() && mapping.bind_to != "none" && mapping.bind_to != "core")
    throw UsageError(cat("--bind-to ", mapping.bind_to,
                         ": with --rankfile, ranks are bound to the cores that it names, or to none"));
}

}  // namespace herald::launch
