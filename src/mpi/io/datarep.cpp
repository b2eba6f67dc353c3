// SPDX-License-Identifier: BSD-3-Clause
// The data representations of this process, and MPI_Register_datarep.
#include "mpi/io/datarep.hpp"

#include <cstring>
#include <deque>

#include "calls.hpp"

namespace herald::mpi {
namespace {

// Files refer to its elements: it only grows.
std::deque<Datarep>& datareps() noexcept {
  static auto& all = *[] {
    auto* made = new std::deque<Datarep>;
    for (const char* name : {"native", "internal"}) made->emplace_back().name = name;
    Datarep& external = made->emplace_back();
    external.name = "external32";
    external.kind = Datarep::Kind::external32;
    return made;
  }();
  return all;
}

}  // namespace

const Datarep* find_datarep(const std::string& name) noexcept {
  for (const Datarep& datarep : datareps())
    if (datarep.name == name) return &datarep;
  return nullptr;
}

namespace api {

int register_datarep(Call& call, const char* datarep, void* read_conversion_fn, void* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
  const std::size_t length = ::strnlen(datarep, MPI_MAX_DATAREP_STRING);
  if (length == 0 || length >= MPI_MAX_DATAREP_STRING)
    return call.fail(MPI_ERR_ARG, "argument 1 (datarep) must have 1 to %d characters",
                     MPI_MAX_DATAREP_STRING - 1);
  if (find_datarep(datarep) != nullptr)
    return call.fail(MPI_ERR_DUP_DATAREP, "argument 1 (datarep): \"%s\" exists already; give another name",
                     datarep);
  Datarep& made = datareps().emplace_back();
  made.name = datarep;
  made.kind = Datarep::Kind::user;
  made.read_conversion = read_conversion_fn;
  made.write_conversion = write_conversion_fn;
  made.large = call.large();
  made.extent = dtype_file_extent_fn;
  made.extra = extra_state;
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
