// SPDX-License-Identifier: BSD-3-Clause
// tools/explain.cpp: `herald explain`: prints all algorithms of a collective with their estimates for a size,
// and the one that the library's own choice selects.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "coll/table.hpp"
#include "commands.hpp"

extern char** environ;

namespace herald::tools {
namespace {

struct Query {
  std::string op;
  std::string size = "0";
  int ranks = 8;
  int hosts = 1;
  bool ordered = false;
};

std::string all_ops() {
  std::string list;
  for (int op = 0; op < coll::kOps; ++op)
    list += (op == 0 ? "" : ", ") + std::string(name_of(static_cast<coll::Op>(op)));
  return list;
}

// "bcast", "MPI_Bcast", "Bcast_init" and "MPI_Ibcast" have the same plan.
bool parse_op(std::string text, coll::Op& out) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (text.starts_with("mpi_")) text.erase(0, 4);
  if (text.ends_with("_init")) text.erase(text.size() - 5);
  for (int op = 0; op < coll::kOps; ++op) {
    out = static_cast<coll::Op>(op);
    if (text == name_of(out) || text == std::string("i") + name_of(out)) return true;
  }
  return false;
}

bool parse_size(const std::string& text, std::uint64_t& out) {
  std::size_t end = 0;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  if (end == 0 || end > 18) return false;
  out = std::stoull(text.substr(0, end));
  std::string unit = text.substr(end);
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string known[] = {"", "k", "m", "g"};
  if (unit.ends_with("ib"))
    unit.erase(unit.size() - 2);
  else if (unit.ends_with("b"))
    unit.erase(unit.size() - 1);
  for (std::size_t power = 0; power < std::size(known); ++power)
    if (unit == known[power]) return !__builtin_mul_overflow(out, std::uint64_t{1} << 10 * power, &out);
  return false;
}

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

std::string time_text(double ns) {
  if (ns >= coll::kNeverNs) return "does not fit";
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.1f} s", ns / 1e9);
}

// The algorithm that HERALD_COLL names; null for auto.
const coll::Algorithm* forced(coll::Op op) {
  std::vector<std::string> warnings;
  const Knobs knobs = read_knobs(environ, warnings);
  for (const std::string& warning : warnings)
    if (warning.starts_with("HERALD_COLL=")) fmt::print(stderr, "herald: {}\n", warning);
  return coll::find_algorithm(op, list_value(knobs.coll, name_of(op)));
}

void explain(const Query& query) {
  coll::Op op{};
  std::uint64_t bytes = 0;
  if (!parse_op(query.op, op))
    throw CLI::ValidationError("op", fmt::format("'{}' is not a collective; one of {}", query.op, all_ops()));
  if (!parse_size(query.size, bytes))
    throw CLI::ValidationError("size", fmt::format("'{}' is not a size; write 8, 64k, 1M or 2G", query.size));
  if (query.hosts > query.ranks)
    throw CLI::ValidationError(
        "--hosts", fmt::format("{} hosts need at least as many ranks; give -n {}", query.hosts, query.hosts));
  coll::Shape shape = coll::shape_of(query.ranks, query.hosts, !query.ordered);
  if (query.hosts < query.ranks) {
    shape.shared_bytes = coll::kUsualSharedBytes;
    shape.streams = query.hosts == 1;
    shape.reads_peers = true;
  }
  shape.largest_host = (query.ranks + query.hosts - 1) / query.hosts;
  shape.leaders_lane = query.hosts > 2;
  shape.lane = shape.leaders_lane && query.hosts == query.ranks;
  std::vector<const coll::Algorithm*> rows;
  std::size_t wide = 0;
  for (const coll::Algorithm* row : coll::algorithms())
    if (row->op == op) rows.push_back(row), wide = std::max(wide, std::string(row->name).size());
  std::stable_sort(rows.begin(), rows.end(), [&](const coll::Algorithm* a, const coll::Algorithm* b) {
    if (a->fits(shape) != b->fits(shape)) return a->fits(shape);
    return a->fits(shape) && a->estimate(bytes, shape) < b->estimate(bytes, shape);
  });
  const coll::Algorithm* named = forced(op);
  const bool forced = named != nullptr && named->fits(shape);
  const coll::Algorithm& winner = forced ? *named : coll::choose(op, bytes, shape);

  fmt::print("{}, {} bytes ({}), {} ranks on {} host{}{}\n", name_of(op), bytes, meaning_of_size(op),
             query.ranks, query.hosts, query.hosts == 1 ? "" : "s",
             query.ordered ? ", an operation that does not commute" : "");
  fmt::print(
      "estimated without measurement: {:.0f} ns a message, {:g} ns a byte moved, {:g} copied, {:g} "
      "reduced\n\n",
      shape.cost.message_ns, shape.cost.byte_ns, shape.cost.copy_byte_ns, shape.cost.reduce_byte_ns);
  for (const coll::Algorithm* row : rows)
    fmt::print("{} {:<{}}  {:>12}  {}\n", row == &winner ? '>' : ' ', row->name, wide,
               row->fits(shape) ? time_text(row->estimate(bytes, shape)) : "does not fit", row->description);
  fmt::print("\n{} is selected: {}\n", winner.name,
             forced             ? "HERALD_COLL names it"
             : rows.size() == 1 ? "it is the only one"
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
  command->add_option("-n,--ranks", query->ranks, "ranks of the communicator")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--hosts", query->hosts, "hosts of the communicator")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--ordered", query->ordered, "the reduction does not commute");
  command->callback([query] { explain(*query); });
}

}  // namespace herald::tools
