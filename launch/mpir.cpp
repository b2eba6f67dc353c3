// SPDX-License-Identifier: BSD-3-Clause
#include "mpir.hpp"

#include <cstring>
#include <vector>

namespace {

constexpr int kSpawned = 1, kAborting = 2;  // MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING

}  // namespace

extern "C" {
MPIR_PROCDESC* MPIR_proctable = nullptr;
int MPIR_proctable_size = 0;
volatile int MPIR_being_debugged = 0, MPIR_debug_state = 0;
char* MPIR_debug_abort_string = nullptr;
volatile int MPIR_i_am_starter = 1, MPIR_partial_attach_ok = 1, MPIR_ignore_queues = 1;

// A debugger sets a breakpoint here: the call must stay.
[[gnu::noinline, gnu::used]] void MPIR_Breakpoint(void) { __asm__ volatile("" ::: "memory"); }
}

namespace herald::launch {
namespace {

// Debuggers read it for as long as mpiexec lives.
std::vector<MPIR_PROCDESC> table;
int known = 0;

}  // namespace

void add_to_process_table(int rank, int size, const std::string& host, const std::string& executable,
                          int pid) {
  if (rank < 0 || rank >= size || pid <= 0) return;
  table.resize(static_cast<std::size_t>(size));
  MPIR_PROCDESC& entry = table[static_cast<std::size_t>(rank)];
  if (entry.pid != 0) return;
  entry = {strdup(host.c_str()), strdup(executable.c_str()), pid};
  if (++known < size) return;
  MPIR_proctable = table.data();
  MPIR_proctable_size = size;
  MPIR_debug_state = kSpawned;
  MPIR_Breakpoint();
}

void show_abort_to_debuggers(const std::string& why) {
  if (MPIR_being_debugged == 0) return;
  MPIR_debug_abort_string = strdup(why.c_str());
  MPIR_debug_state = kAborting;
  MPIR_Breakpoint();
}

}  // namespace herald::launch
