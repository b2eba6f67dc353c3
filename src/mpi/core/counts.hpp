// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/counts.hpp: an array of counts or displacements of int or of 64-bit values.
// Both forms of a call reach one implementation without copying the array.
#pragma once
#include <climits>
#include <cstddef>
#include <cstdint>

#include "mpi.h"

namespace herald::mpi {

class Counts {
 public:
  explicit Counts(const int* array) noexcept : array_(array), wide_(false) {}
  explicit Counts(const std::int64_t* array) noexcept : array_(array), wide_(true) {}

  bool null() const noexcept { return array_ == nullptr; }
  bool wide() const noexcept { return wide_; }
  MPI_Count operator[](std::size_t i) const noexcept {
    return wide_ ? static_cast<const std::int64_t*>(array_)[i] : static_cast<const int*>(array_)[i];
  }

 private:
  const void* array_;
  bool wide_;
};

// Results of the plain forms: a value that does not fit becomes MPI_UNDEFINED.
inline void narrow(MPI_Count value, int* out) noexcept {
  *out = value >= INT_MIN && value <= INT_MAX ? static_cast<int>(value) : MPI_UNDEFINED;
}
inline void narrow(MPI_Count value, MPI_Aint* out) noexcept { *out = static_cast<MPI_Aint>(value); }

}  // namespace herald::mpi
