// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_choice.hpp"

#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/knobs.hpp"
#include "mpi/runtime.hpp"

namespace herald::mpi {
namespace {

constexpr const char* kPrefix = "coll_";

// The rows of the knobs coll_<op>, by operation.
using Rows = std::array<std::size_t, coll::kOps>;
Rows find_rows() noexcept {
  Rows rows{};
  const auto all = knob_rows();
  const std::size_t skip = std::strlen(kPrefix);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::strncmp(all[i].name, kPrefix, skip) != 0) continue;
    for (int op = 0; op < coll::kOps; ++op)
      if (std::strcmp(all[i].name + skip, name_of(static_cast<coll::Op>(op))) == 0)
        rows[static_cast<std::size_t>(op)] = i;
  }
  return rows;
}

// Names of the algorithms for `op` that fit.
std::string names(coll::Op op, const coll::Shape& shape) {
  std::string list;
  for (const coll::Algorithm* row : coll::algorithms())
    if (row->op == op && row->fits(shape)) list += (list.empty() ? "" : ", ") + std::string(row->name);
  return list;
}

void warn(coll::Op op, const std::string& forced, const coll::Shape& shape,
          const coll::Algorithm& taken) noexcept {
  static std::array<bool, coll::kOps> told{};
  bool& mine = told[static_cast<std::size_t>(op)];
  if (mine || runtime().engine().rank() != 0) return;
  mine = true;
  std::string variable = "HERALD_COLL_";
  for (const char* c = name_of(op); *c != '\0'; ++c)
    variable += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  std::fprintf(
      stderr,
      "herald: warning: %s=%s does not fit a call on %d ranks%s; %s is used there. Those that fit: %s\n",
      variable.c_str(), forced.c_str(), shape.ranks,
      shape.commutes ? "" : " with an operation that does not commute", taken.name, names(op, shape).c_str());
}

// HERALD_VERBOSE=3 shows what is chosen whenever a plan is made.
const coll::Algorithm& told(const coll::Algorithm& chosen, const coll::CollSpec& ask) noexcept {
  if (runtime().knobs().verbose >= 3) [[unlikely]]
    std::fprintf(stderr, "herald: rank %d: %s of %llu bytes on %d ranks by %s\n", runtime().engine().rank(),
                 name_of(ask.op), static_cast<unsigned long long>(ask.bytes), ask.size, chosen.name);
  return chosen;
}

}  // namespace

const coll::Algorithm& choose_algorithm(const coll::CollSpec& ask, const coll::Shape& shape) noexcept {
  static const Rows rows = find_rows();
  const std::string& forced = knob_text(runtime().knobs(), rows[static_cast<std::size_t>(ask.op)]);
  const coll::Algorithm* named = coll::find_algorithm(ask.op, forced.c_str());
  const auto fits = [&] { return named->fits(shape) && named->estimate(ask.bytes, shape) < coll::kNeverNs; };
  if (named != nullptr && fits()) return told(*named, ask);
  const coll::Algorithm& best = coll::choose(ask.op, ask.bytes, shape);
  // The first calls on a communicator have no collective segment yet: that is no news.
  const bool on_segment = forced == "shared" || forced == "stream";
  if (named != nullptr && !on_segment) warn(ask.op, forced, shape, best);
  return told(best, ask);
}

}  // namespace herald::mpi
