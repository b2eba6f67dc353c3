// SPDX-License-Identifier: BSD-3-Clause
// tools/explain.cpp: `herald explain`: prints all algorithms of a collective with their estimates for a size,
// and the one that the library's own choice selects.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/explain.hpp"
#include "coll_query.hpp"
#include "commands.hpp"

extern char** environ;

namespace herald::tools {
namespace {

struct Query {
  std::string op;
  std::string size = "0";
  std::string ranks = "8";
  int hosts = 0;
  bool ordered = false;
  std::string from;
};

const char* meaning_of_size(coll::Op op) {
  using coll::Op;
  switch (op) {
    case Op::barrier: return "no data";
    case Op::bcast: return "all of the data";
    case Op::reduce:
    case Op::allreduce:
    case Op::scan:
    case Op::exscan: return "the contribution of a rank";
    case Op::reduce_scatter:
    case Op::reduce_scatter_block: return "the contribution of a rank, all blocks";
    case Op::allgatherv: return "the blocks of all ranks together";
    case Op::gather:
    case Op::scatter:
    case Op::allgather:
    case Op::alltoall: return "one block";
    case Op::gatherv:
    case Op::scatterv:
    case Op::alltoallv:
    case Op::alltoallw:
    case Op::neighbor_allgather:
    case Op::neighbor_allgatherv:
    case Op::neighbor_alltoall:
    case Op::neighbor_alltoallv:
    case Op::neighbor_alltoallw: return "not every rank knows the sizes: the choice does not depend on them";
  }
  return "";
}

// The algorithm that HERALD_COLL names; null for auto.
const coll::Algorithm* forced(coll::Op op) {
  std::vector<std::string> warnings;
  const Knobs knobs = read_knobs(environ, warnings);
  for (const std::string& warning : warnings)
    if (warning.starts_with("HERALD_COLL=")) fmt::print(stderr, "herald: {}\n", warning);
  return coll::find_algorithm(op, list_value(knobs.coll, name_of(op)));
}

// Without measurement: all algorithms with the estimates of the table, the cheapest first.
void print_estimates(coll::Op op, std::uint64_t bytes, const coll::Shape& shape,
                     const coll::Algorithm& winner) {
  std::vector<const coll::Algorithm*> rows;
  std::size_t wide = 0;
  for (const coll::Algorithm* row : coll::algorithms())
    if (row->op == op) rows.push_back(row), wide = std::max(wide, std::string(row->name).size());
  const auto ns_of = [&](const coll::Algorithm* row) {
    return row->fits(shape) ? row->estimate(bytes, shape) : 2 * coll::kNeverNs;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const coll::Algorithm* a, const coll::Algorithm* b) { return ns_of(a) < ns_of(b); });
  fmt::print(
      "estimated without measurement: {:.0f} ns a message, {:g} ns a byte moved, {:g} copied, {:g} "
      "reduced\n\n",
      shape.cost.message_ns, shape.cost.byte_ns, shape.cost.copy_byte_ns, shape.cost.reduce_byte_ns);
  for (const coll::Algorithm* row : rows)
    fmt::print("{} {:<{}}  {:>12}  {}\n", row == &winner ? '>' : ' ', row->name, wide,
               ns_of(row) < coll::kNeverNs ? coll::time_text(ns_of(row)) : "does not fit", row->description);
}

void print_predictions(coll::Op op, std::uint64_t bytes, const coll::Shape& shape,
                       const coll::Algorithm& winner, const model::Measured& measured) {
  fmt::print("predicted from the parameters of cluster {}, measured on {} hosts\n\n", measured.cluster,
             measured.hosts.size());
  const std::string table =
      coll::explain_choice(winner, bytes, shape, coll::cluster_of(shape), &measured.parameters);
  fmt::print("{}", table.substr(table.find('\n') + 1));
  for (const coll::Algorithm* row : coll::algorithms())
    if (row->op == op && (!row->fits(shape) || row->estimate(bytes, shape) >= coll::kNeverNs))
      fmt::print("  {} does not fit\n", row->name);
}

void explain(const Query& query) {
  const coll::Op op = parse_op(query.op);
  const std::uint64_t bytes = parse_size(query.size);
  const coll::Shape shape = parse_shape(query.ranks, query.hosts, !query.ordered);
  model::Measured measured;
  const bool has_model = load_model(query.from, measured);
  const coll::Algorithm* named = forced(op);
  const bool forced = named != nullptr && named->fits(shape);
  const auto cheapest = [&]() -> const coll::Algorithm& {
    if (!has_model) return coll::choose(op, bytes, shape);
    return coll::Predictor(measured.parameters).choose_cheapest(op, bytes, shape, coll::cluster_of(shape));
  };
  const coll::Algorithm& winner = forced ? *named : cheapest();
  fmt::print("{}, {} bytes ({}), {} ranks on {} host{}{}\n", name_of(op), bytes, meaning_of_size(op),
             shape.ranks, shape.hosts, shape.hosts == 1 ? "" : "s",
             query.ordered ? ", an operation that does not commute" : "");
  if (has_model)
    print_predictions(op, bytes, shape, winner, measured);
  else
    print_estimates(op, bytes, shape, winner);
  int rows = 0;
  for (const coll::Algorithm* row : coll::algorithms()) rows += row->op == op ? 1 : 0;
  fmt::print("\n{} is selected: {}\n", winner.name,
             forced      ? "HERALD_COLL names it"
             : rows == 1 ? "it is the only one"
                         : "it is the cheapest that fits");
  if (named != nullptr && !forced) fmt::print("HERALD_COLL: {}={} does not fit\n", name_of(op), named->name);
}

}  // namespace

void add_explain(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("explain", "the algorithms of a collective: candidates, estimates, choice");
  const auto query = std::make_shared<Query>();
  command->add_option("op", query->op, "the collective: " + all_ops())->required();
  command->add_option("size", query->size, "bytes: 8, 64k, 1M ...; herald(1) explains what counts");
  command->add_option("-n,--ranks", query->ranks, "ranks of the communicator; 8x4: 8 hosts with 4 ranks each")
      ->capture_default_str();
  command->add_option("--hosts", query->hosts, "hosts of the communicator")->check(CLI::Range(1, 1 << 20));
  command->add_option("--from", query->from, "file of herald model measure; default: that of this host");
  command->add_flag("--ordered", query->ordered, "the reduction does not commute");
  command->callback([query] { explain(*query); });
}

}  // namespace herald::tools
