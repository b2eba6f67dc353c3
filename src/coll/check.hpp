// SPDX-License-Identifier: BSD-3-Clause
// coll/check.hpp: HERALD_CHECK=collectives: before a plan does its work all ranks tell each other what they
// call. In:  this rank's Facts, at the start of the scratch memory. Out: the facts of all ranks there; the
// step `check`, which everything after it waits for; two calls that do
//      not match, if there are such. Every rank sees the same records, so all stop or none.
#pragma once
#include <cstdint>
#include <string>

#include "coll/builder.hpp"
#include "coll/coll_spec.hpp"

namespace herald::coll {

// refused: it failed its own checks, and goes no further than to say so.
enum class Form : std::uint8_t { internal, blocking, nonblocking, persistent, refused };

// One rank's call, as it goes over the wire to ranks of the same build on the same kind of machine.
struct Facts {
  std::int32_t rank = 0;
  Op op = Op::barrier;
  Form form = Form::internal;
  std::uint8_t reduces = 0;
  std::uint8_t unused = 0;
  std::int32_t root = -1;        // -1: there is none
  std::uint32_t item_bytes = 0;  // reductions: of one item
  std::uint64_t bytes = 0;       // Ask::bytes
  char reduction[24] = "";       // name of a predefined operation, else what kind it is
};
static_assert(sizeof(Facts) == 48);

// What is known when the plan is made: all but form and reduction.
Facts facts_of(const CollSpec& ask) noexcept;

// Adds the exchange and the step `check`; steps added from now on wait for it. First thing in a plan.
void exchange_facts(const CollSpec& ask, Builder& builder) noexcept;

// A plan that does nothing else.
Plan make_check(const CollSpec& ask) noexcept;

// The first rank, in rank order, whose call does not match rank 0's; null if all match. `records` begins with
// those of `rank` and goes round.
struct Mismatch {
  const Facts* one = nullptr;
  const Facts* other = nullptr;
};
Mismatch find_mismatch(const Facts* records, int rank, int size) noexcept;

// "rank 0 calls MPI_Bcast (root 0, 40 bytes), rank 2 calls ..."
std::string text_of(const Mismatch& mismatch) noexcept;

}  // namespace herald::coll
