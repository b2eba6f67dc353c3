// SPDX-License-Identifier: BSD-3-Clause
// launch/options.hpp: the table of options, from which parser, help text and nearest-name hint are made.
// Pure.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace herald::launch {

enum class Opt {
  count,
  wdir,
  env,
  genv,
  export_x,
  envlist,
  genvlist,
  envall,
  genvall,
  envnone,
  genvnone,
  host,
  hostfile,
  engine,
  rsh_agent,
  ppn,
  map_by,
  by_unit,     // --bynode
  cores_each,  // --cpus-per-rank
  rank_by,
  bind_to,
  bind_unit,  // --bind-to-none
  hwthread_cpus,
  no_local,
  oversubscribe,
  no_oversubscribe,
  membind,
  rmk,
  rankfile,
  pretend_hosts,
  label,
  timestamps,
  merge_streams,
  output,
  output_filename,
  out_pattern,
  err_pattern,
  report_bindings,
  display,
  display_map,
  display_allocation,
  print_codes,
  timeout,
  stdin_to,
  configfile,
  keep_going,
  gdb,
  stack_traces,
  universe,
  allow_root,
  verbose,
  quiet,
  version,
  help,
  pass_openmpi,  // no effect on one machine; passed to Open MPI
  pass_hydra,    // no effect on one machine; passed to Hydra
  ignored,
  refused
};

enum class Group { start, environment, hosts, mapping, output, job, about, compatible, refused };

struct Option {
  Opt id;
  std::string_view names;  // without dashes, separated by '|'
  std::string_view args;   // one word per argument that follows
  Group group;
  std::string_view help;

  int arg_count() const;
};

std::span<const Option> option_table();

// By name without dashes; null if there is none.
const Option* find_option(std::string_view name);

// The option (with dashes) with the smallest edit distance from `name`; empty if that is large.
std::string nearest_option(std::string_view name);

// "-n" or "--wdir": a name as help and messages show it.
std::string dashed(std::string_view name);

std::string usage_line();
std::string help_text();

}  // namespace herald::launch
