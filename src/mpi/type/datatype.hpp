// SPDX-License-Identifier: BSD-3-Clause
// mpi/type/datatype.hpp: how datatypes are made and recorded. Their layouts are in type/.
#pragma once
#include <memory>
#include <vector>

#include "mpi/core/call.hpp"
#include "type/build.hpp"

namespace herald::mpi {

// How a datatype was made, for MPI_Type_get_envelope and MPI_Type_get_contents. Its input datatypes are
// recorded without their handles, so they may be freed before this one.
struct Contents {
  // A predefined datatype itself, or everything needed to make the same derived one again.
  struct Ingredient {
    Datatype* predefined = nullptr;
    type::LayoutRef layout;
    bool committed = false;
    std::shared_ptr<const Contents> contents;
  };

  explicit Contents(int how, bool large_count = false) noexcept : combiner(how), large(large_count) {}
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents();

  int combiner;
  bool large;  // made by a _c call with counts: only the _c calls can return its contents
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<Ingredient> ingredients;

  void add(const Datatype& datatype);
  // A count goes to `counts` for the _c forms, else to `integers`.
  void add_count(MPI_Count value);
  void add_counts(type::Ints values);
  // A byte displacement goes to `counts` for the _c forms, else to `addresses`.
  void add_address(MPI_Count value);
  void add_addresses(type::Ints values);
};

// The handle of a predefined datatype, or of a new one that is the same; the program frees it.
MPI_Datatype again(const Contents::Ingredient& ingredient) noexcept;

// An array argument in 64-bit form.
class WideArray {
 public:
  WideArray(Counts counts, MPI_Count length) {
    values_.reserve(static_cast<std::size_t>(length));
    for (MPI_Count i = 0; i < length; ++i) values_.push_back(counts[static_cast<std::size_t>(i)]);
  }
  WideArray(const int* values, int length) : values_(values, values + length) {}
  operator type::Ints() const noexcept { return values_; }  // NOLINT: meant to convert
  std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  std::vector<std::int64_t>& values() noexcept { return values_; }

 private:
  std::vector<std::int64_t> values_;
};

// Ends a constructor: turns a failed layout into the call's error, or hands out a new datatype.
int deliver(Call& call, Status status, type::LayoutRef layout, std::shared_ptr<const Contents> contents,
            MPI_Datatype* newtype) noexcept;

// Fails `call` if an array argument is missing although there are elements.
bool has_array(Call& call, bool null, MPI_Count length, Arg arg) noexcept;
// Fails `call` at the first value below `least`.
bool at_least(Call& call, type::Ints values, std::int64_t least, Arg arg) noexcept;

// The predefined datatype of a kind that has a name; null for the kinds without one.
Datatype* predefined_datatype(type::Basic basic) noexcept;

}  // namespace herald::mpi
