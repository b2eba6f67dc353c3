// SPDX-License-Identifier: BSD-3-Clause
// coll/check.hpp: HERALD_CHECK=collectives: ranks compare their calls before a plan does its work.
// In:  this rank's Facts, at the start of the scratch memory.
// Out: the facts of all ranks there; the step `check`, which all later steps wait for; two calls that do not
// match, if any. Every rank sees the same records, so all stop or none.
#pragma once
#include <cstdint>
#include <string>

#include "coll/builder.hpp"
#include "coll/coll_spec.hpp"

namespace herald::coll {

// refused: the call failed its own argument checks; it only takes part in the comparison.
enum class Form : std::uint8_t { internal, blocking, nonblocking, persistent, refused };

// One rank's call, as sent to ranks of the same build on the same architecture.
struct Facts {
  std::int32_t rank = 0;
  Op op = Op::barrier;
  Form form = Form::internal;
  std::uint8_t reduces = 0;
  std::uint8_t repr = 0;         // reductions: type::Repr of the elements; 0: several, or not known
  std::int32_t root = -1;        // -1: none
  std::uint32_t item_bytes = 0;  // reductions: of one item
  std::uint64_t bytes = 0;       // CollSpec::bytes
  char reduction[24] = "";       // name of a predefined operation, else its kind
};
static_assert(sizeof(Facts) == 48);

// All facts that are known when the plan is made: all but form and reduction.
Facts facts_of(const CollSpec& spec) noexcept;

// Adds the exchange and the step `check`; later steps wait for it. Must come first in a plan.
void exchange_facts(const CollSpec& spec, Builder& builder) noexcept;

// A plan of nothing but the check.
Plan make_check(const CollSpec& spec) noexcept;

// The first rank, in rank order, whose call does not match rank 0's; null if all match. `records` begins with
// that of `rank` and wraps around.
struct Mismatch {
  const Facts* one = nullptr;
  const Facts* other = nullptr;
};
Mismatch find_mismatch(const Facts* records, int rank, int size) noexcept;

// "rank 0 calls MPI_Bcast (root 0, 40 bytes), rank 2 calls ..."
std::string text_of(const Mismatch& mismatch) noexcept;

}  // namespace herald::coll
