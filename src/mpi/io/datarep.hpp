// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/datarep.hpp: data representations: how elements lie in a file.
#pragma once
#include <string>

#include "mpi/core/objects.hpp"

namespace herald::mpi {

struct Datarep {
  enum class Kind : std::uint8_t { native, external32, user };
  std::string name;
  Kind kind = Kind::native;
  // Of MPI_Register_datarep; null conversion functions: data is as in memory.
  void* read_conversion = nullptr;
  void* write_conversion = nullptr;
  bool large = false;  // the conversion functions take an MPI_Count
  MPI_Datarep_extent_function* extent = nullptr;
  void* extra = nullptr;

  bool is_native() const noexcept { return kind == Kind::native; }
  bool converts(bool writes) const noexcept {
    return kind == Kind::external32 || (writes ? write_conversion : read_conversion) != nullptr;
  }
};

// "native", "internal", "external32", or a registered one; null if there is none.
const Datarep* find_datarep(const std::string& name) noexcept;

// A datatype as it lies in a file: each predefined type in it has the size that the representation gives it.
// Null: a function of the program failed, or sizes are beyond 64 bits.
type::LayoutRef file_layout(const Datarep& datarep, const Datatype& datatype) noexcept;

}  // namespace herald::mpi
