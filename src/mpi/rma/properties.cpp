// SPDX-License-Identifier: BSD-3-Clause
// Hints, names and the group of windows.
#include <cstring>

#include "calls.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/check.hpp"
#include "mpi/core/info.hpp"
#include "mpi/rma/hints.hpp"

namespace herald::mpi {
namespace {

struct Hint {
  const char* key;
  const char* initial;
};
// Herald keeps all orders of accumulates and needs no assertion, so most only come back as they were given.
constexpr Hint kHints[] = {{"no_locks", "false"},
                           {"accumulate_ordering", "rar,raw,war,waw"},
                           {"accumulate_ops", "same_op_no_op"},
                           {"mpi_accumulate_granularity", "0"},
                           {"same_size", "false"},
                           {"same_disp_unit", "false"},
                           {"alloc_shared_noncontig", "false"}};

}  // namespace

void take_hints(Win& win, const Info& info) noexcept {
  for (const Hint& hint : kHints)
    if (const std::string* value = info_value(info, hint.key)) info_put(win.info, hint.key, *value);
}

namespace api {

int win_set_info(Call&, Win* win, Info* info) {
  if (info != nullptr) take_hints(*win, *info);
  return MPI_SUCCESS;
}

int win_get_info(Call&, Win* win, MPI_Info* info_used) {
  Info* info = new_info();
  for (const Hint& hint : kHints) {
    const std::string* value = info_value(win->info, hint.key);
    info_put(*info, hint.key, value != nullptr ? *value : hint.initial);
  }
  *info_used = handle_of(info);
  return MPI_SUCCESS;
}

int win_set_name(Call&, Win* win, const char* win_name) {
  win->name.assign(win_name, ::strnlen(win_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int win_get_name(Call& call, Win* win, char* win_name, int* resultlen) {
  check_pointer(call, win_name, {2, "win_name"});
  if (call.failed()) return call.error();
  const std::string name = win == nullptr ? "MPI_WIN_NULL" : win->name;
  std::memcpy(win_name, name.c_str(), name.size() + 1);
  *resultlen = static_cast<int>(name.size());
  return MPI_SUCCESS;
}

int win_get_group(Call&, Win* win, MPI_Group* group) {
  *group = hand_out(win->comm->group);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
