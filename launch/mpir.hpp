// SPDX-License-Identifier: BSD-3-Clause
// launch/mpir.hpp: the MPIR process acquisition interface: DDT, TotalView and gdb scripts read the table of
// the ranks from the memory of mpiexec, and stop it at MPIR_Breakpoint().
// While mpiexec is stopped there, ranks wait in MPI_Init for its answers: a debugger finds them all alive.
#pragma once
#include <string>

extern "C" {

struct MPIR_PROCDESC {
  char* host_name;
  char* executable_name;
  int pid;
};
extern MPIR_PROCDESC* MPIR_proctable;  // by rank
extern int MPIR_proctable_size;
extern volatile int MPIR_being_debugged;  // set by the debugger
extern volatile int MPIR_debug_state;     // MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING
extern char* MPIR_debug_abort_string;
// Their presence is what they say: mpiexec is no rank, and a debugger may attach to some ranks only.
extern volatile int MPIR_i_am_starter, MPIR_partial_attach_ok, MPIR_ignore_queues;
void MPIR_Breakpoint(void);
}

namespace herald::launch {

// One rank of a job of `size`. With the last one debuggers are told.
void add_to_process_table(int rank, int size, const std::string& host, const std::string& executable,
                          int pid);
void show_abort_to_debuggers(const std::string& why);

}  // namespace herald::launch
