// SPDX-License-Identifier: BSD-3-Clause
// Hints on communicators. Unknown hints are dropped.
#include "mpi/core/info.hpp"
#include "calls.hpp"
#include "mpi/comm/comm.hpp"

namespace herald::mpi {
namespace {

// Assertions about how the program uses the communicator: "true" or "false".
constexpr const char* kHints[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                  "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};

}  // namespace

void take_hints(Comm& comm, const Info& info) noexcept {
  for (const char* hint : kHints) {
    const std::string* value = info_value(info, hint);
    if (value != nullptr && (*value == "true" || *value == "false")) info_put(comm.info, hint, *value);
  }
}

namespace api {

int comm_set_info(Call&, Comm* comm, Info* info) {
  if (info != nullptr) take_hints(*comm, *info);
  return MPI_SUCCESS;
}

int comm_get_info(Call&, Comm* comm, MPI_Info* info_used) {
  Info* info = new_info();
  for (const char* hint : kHints) {
    const std::string* value = info_value(comm->info, hint);
    info_put(*info, hint, value != nullptr ? *value : "false");
  }
  *info_used = handle_of(info);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
