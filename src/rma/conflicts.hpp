// SPDX-License-Identifier: BSD-3-Clause
// rma/conflicts.hpp: finds accesses to the same bytes in one epoch whose outcome MPI does not define
// (HERALD_CHECK=rma): a put with any other access, an accumulate with a get.
// In:  the accesses of all origins to the memory of one rank, and the ends of their epochs.
// Out: for an access that conflicts with an earlier one, a text about both.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "type/cursor.hpp"
#include "wire/rma_packet.hpp"

namespace herald::rma {

struct AccessFacts {
  int origin = 0;
  wire::RmaKind kind = wire::RmaKind::put;
  std::uint64_t offset = 0;  // in the window
  std::int64_t count = 0;
};

class Conflicts {
 public:
  explicit Conflicts(int rank) noexcept : rank_(rank) {}
  // `at`: the memory. Empty: there is no conflict.
  std::string add(const AccessFacts& facts, type::Cursor at) noexcept;
  // The accesses of `origin` so far have taken effect before later ones.
  void end(int origin) noexcept;
  void end_all() noexcept { accesses_.clear(); }

 private:
  struct Bytes {
    std::uintptr_t begin, end;
  };
  struct Access {
    AccessFacts facts;
    std::vector<Bytes> bytes;  // by address, disjoint
    std::uint64_t total;
  };
  static bool may_overlap(wire::RmaKind one, wire::RmaKind other) noexcept;
  static bool overlap(const std::vector<Bytes>& one, const std::vector<Bytes>& other) noexcept;

  const int rank_;
  std::vector<Access> accesses_;
};

}  // namespace herald::rma
