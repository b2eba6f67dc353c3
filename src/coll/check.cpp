// SPDX-License-Identifier: BSD-3-Clause
#include "coll/check.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "coll/make/tree.hpp"
#include "type/basic.hpp"

namespace herald::coll {
namespace {

bool has_root(Op op) noexcept {
  return op == Op::bcast || op == Op::gather || op == Op::gatherv || op == Op::scatter ||
         op == Op::scatterv || op == Op::reduce;
}
bool has_reduction(Op op) noexcept { return op >= Op::reduce && op <= Op::exscan; }
// Sizes that may differ between ranks are not compared.
bool has_bytes(Op op) noexcept {
  return op != Op::barrier && op != Op::gatherv && op != Op::scatterv && op != Op::alltoallv &&
         op != Op::alltoallw && op < Op::neighbor_allgather;
}

bool match(const Facts& a, const Facts& b) noexcept {
  return a.op == b.op && a.form == b.form && a.root == b.root && a.bytes == b.bytes &&
         a.item_bytes == b.item_bytes && (a.repr == b.repr || a.repr == 0 || b.repr == 0) &&
         std::strncmp(a.reduction, b.reduction, sizeof a.reduction) == 0;
}

const char* elements_text(std::uint8_t repr) noexcept {
  using type::Repr;
  switch (static_cast<Repr>(repr)) {
    case Repr::i8:
    case Repr::i16:
    case Repr::i32:
    case Repr::i64:
    case Repr::i128:
    case Repr::word: return "integers";
    case Repr::u8:
    case Repr::u16:
    case Repr::u32:
    case Repr::u64:
    case Repr::uword: return "unsigned integers";
    case Repr::f16:
    case Repr::f32:
    case Repr::f64:
    case Repr::fx:
    case Repr::f128: return "floating-point numbers";
    case Repr::c16:
    case Repr::c32:
    case Repr::c64:
    case Repr::cx:
    case Repr::c128: return "complex numbers";
    case Repr::pair: return "pairs";
    case Repr::none: break;
  }
  return "items";
}

std::string call_of(const Facts& facts) {
  std::string name = name_of(facts.op);
  if (facts.form == Form::internal)
    return "a call that makes or frees an object for all ranks (its " + name + ")";
  if (facts.form == Form::nonblocking) return "MPI_I" + name;
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return "MPI_" + name + (facts.form == Form::persistent ? "_init" : "");
}

std::string one_text(const Facts& facts) {
  std::string inner;
  const auto add = [&](const std::string& text) { inner += (inner.empty() ? "" : ", ") + text; };
  if (facts.root >= 0) add("root " + std::to_string(facts.root));
  if (has_bytes(facts.op)) add(std::to_string(facts.bytes) + " bytes");
  if (facts.reduces != 0) {
    add(elements_text(facts.repr) + std::string(" of ") + std::to_string(facts.item_bytes) + " bytes");
    add(std::string(facts.reduction, strnlen(facts.reduction, sizeof facts.reduction)));
  }
  if (facts.form == Form::refused)
    return "rank " + std::to_string(facts.rank) + " makes a call (" + name_of(facts.op) +
           ", in one of its forms) that is refused for its arguments";
  return "rank " + std::to_string(facts.rank) + " calls " + call_of(facts) +
         (inner.empty() ? "" : " (" + inner + ")");
}

}  // namespace

Facts facts_of(const CollSpec& spec) noexcept {
  Facts facts;
  facts.rank = spec.rank;
  facts.op = spec.op;
  if (has_root(spec.op)) facts.root = spec.root;
  if (has_bytes(spec.op)) facts.bytes = spec.bytes;
  if (!has_reduction(spec.op)) return facts;
  const type::Layout* layout = spec.send.layout != nullptr ? spec.send.layout : spec.recv.layout;
  facts.reduces = 1;
  facts.item_bytes = layout == nullptr ? 0 : static_cast<std::uint32_t>(layout->size());
  return facts;
}

// Distinct rounds, because a later cast may overtake these messages.
constexpr int kFactsRound = 192;

// Bruck allgather: log2(n) rounds.
void exchange_facts(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece all = b.scratch(sizeof(Facts) * static_cast<std::uint64_t>(n));
  const auto records = [&](int begin, int end) {
    return bytes_of(all, sizeof(Facts) * static_cast<std::uint64_t>(begin),
                    sizeof(Facts) * static_cast<std::uint64_t>(end - begin));
  };
  StepId have[kMaxRounds];
  StepId sent[kMaxRounds];
  int known = 0;
  for (int distance = 1; distance < n; distance *= 2) {
    const int count = std::min(distance, n - distance);
    b.round(kFactsRound + known);
    const StepId got = b.recv((spec.rank + distance) % n, records(distance, distance + count));
    sent[known] = b.send((spec.rank - distance + n) % n, records(0, count));
    for (int i = 0; i < known; ++i) b.depend(sent[known], have[i]);
    have[known++] = got;
  }
  const StepId checked = b.check(all);
  for (int i = 0; i < known; ++i) {
    b.depend(checked, have[i]);
    b.depend(checked, sent[i]);
  }
  b.fence();
}

Plan make_check(const CollSpec& spec) noexcept {
  Builder builder;
  exchange_facts(spec, builder);
  Plan plan = builder.finish("check");
  plan.operation = name_of(spec.op);
  return plan;
}

Mismatch find_mismatch(const Facts* records, int rank, int size) noexcept {
  const auto of = [&](int r) { return records + (r - rank + size) % size; };
  for (int r = 1; r < size; ++r)
    if (!match(*of(0), *of(r))) return {of(0), of(r)};
  return {};
}

std::string text_of(const Mismatch& mismatch) noexcept {
  return one_text(*mismatch.one) + ", " + one_text(*mismatch.other);
}

}  // namespace herald::coll
