// SPDX-License-Identifier: BSD-3-Clause
#include "coll_query.hpp"

#include <fmt/format.h>

#include <cctype>
#include "commands.hpp"

#include "boot/model_file.hpp"

extern char** environ;

namespace herald::tools {

std::string all_ops() {
  std::string list;
  for (int op = 0; op < coll::kOps; ++op)
    list += (op == 0 ? "" : ", ") + std::string(name_of(static_cast<coll::Op>(op)));
  return list;
}

// "bcast", "MPI_Bcast", "Bcast_init" and "MPI_Ibcast" have the same plan.
coll::Op parse_op(std::string text) {
  const std::string given = text;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (text.starts_with("mpi_")) text.erase(0, 4);
  if (text.ends_with("_init")) text.erase(text.size() - 5);
  for (int i = 0; i < coll::kOps; ++i) {
    const auto op = static_cast<coll::Op>(i);
    if (text == name_of(op) || text == std::string("i") + name_of(op)) return op;
  }
  throw CLI::ValidationError("op", fmt::format("'{}' is not a collective; one of {}", given, all_ops()));
}

std::uint64_t parse_size(const std::string& text) {
  const auto refuse = [&]() {
    return CLI::ValidationError("size", fmt::format("'{}' is not a size; write 8, 64k, 1M or 2G", text));
  };
  std::size_t end = 0;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  if (end == 0 || end > 18) throw refuse();
  std::uint64_t bytes = std::stoull(text.substr(0, end));
  std::string unit = text.substr(end);
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string known[] = {"", "k", "m", "g"};
  if (unit.ends_with("ib"))
    unit.erase(unit.size() - 2);
  else if (unit.ends_with("b"))
    unit.erase(unit.size() - 1);
  for (std::size_t power = 0; power < std::size(known); ++power)
    if (unit == known[power] && !__builtin_mul_overflow(bytes, std::uint64_t{1} << 10 * power, &bytes))
      return bytes;
  throw refuse();
}

coll::Shape parse_shape(const std::string& text, int hosts, bool commutes) {
  const std::size_t cross = text.find('x');
  int numbers[2] = {0, 1};
  try {
    std::size_t used = 0;
    numbers[0] = std::stoi(text, &used);
    bool good = used == std::min(cross, text.size());
    if (cross != std::string::npos) {
      numbers[1] = std::stoi(text.substr(cross + 1), &used);
      good = good && used == text.size() - cross - 1 && hosts == 0;
    }
    if (!good || numbers[0] < 1 || numbers[1] < 1 || std::int64_t{numbers[0]} * numbers[1] > 1 << 20) throw 0;
  } catch (...) {
    throw CLI::ValidationError(
        "-n",
        fmt::format("'{}' is not a number of ranks: write 16, or 8x4 for 8 hosts with 4 ranks each", text));
  }
  const int ranks = numbers[0] * numbers[1];
  if (cross != std::string::npos) hosts = numbers[0];
  if (hosts == 0) hosts = 1;
  if (hosts > ranks)
    throw CLI::ValidationError("--hosts",
                               fmt::format("{} hosts need at least as many ranks; give -n {}", hosts, hosts));
  coll::Shape shape = coll::shape_of(ranks, hosts, commutes);
  if (hosts < ranks) {
    shape.shared_bytes = coll::kUsualSharedBytes;
    shape.streams = hosts == 1;
    shape.reads_peers = true;
  }
  shape.largest_host = (ranks + hosts - 1) / hosts;
  shape.leaders_lane = hosts > 2;
  shape.lane = shape.leaders_lane && hosts == ranks;
  return shape;
}

bool load_model(const std::string& file, model::Measured& out) {
  std::string why;
  std::vector<std::string> warnings;
  if (file.empty()) {
    const bool found = boot::find_model(boot::model_folder(environ), boot::this_place(), out, warnings);
    for (const std::string& each : warnings) fmt::print(stderr, "herald: {}\n", each);
    return found;
  }
  std::string path = file;
  if (path.ends_with(".json")) path.replace(path.size() - 5, 5, ".model");
  if (boot::read_model(path, out, why)) return true;
  fail("model", why);
}

}  // namespace herald::tools
