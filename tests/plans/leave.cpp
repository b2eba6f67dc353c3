// SPDX-License-Identifier: BSD-3-Clause
// leave.cpp: loops with hints that are left by an exception or by longjmp, again and again; compiled with
// --plans. What could go wrong: memory grows with each loop that is left without a release, or a later call
// uses a stale plan and gets a wrong result.
#include <malloc.h>
#include <mpi.h>

#include <csetjmp>
#include <cstdio>

namespace {

constexpr int kTimes = 1200, kMost = 300;
double in[kMost], out[kMost];
std::jmp_buf back;
int errors;

__attribute__((noinline)) void check(int count, int size) {
  for (int i = 0; i < count; ++i) errors += out[i] != in[i] * size;
}

__attribute__((noinline)) void stop_by_exception(int turn) {
  if (turn == 2) throw turn;
}

__attribute__((noinline)) void stop_by_jump(int turn) {
  if (turn == 2) std::longjmp(back, 1);
}

template <class Stop>
__attribute__((noinline)) void loop(MPI_Comm comm, int count, int size, Stop stop) {
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
    check(count, size);
    stop(turn);
  }
}

void leave_loops(int size) {
  for (int i = 0; i < kTimes; ++i) {
    const int count = 1 + i % kMost;
    try {
      loop(MPI_COMM_WORLD, count, size, stop_by_exception);
    } catch (int) {
    }
    if (setjmp(back) == 0) loop(MPI_COMM_WORLD, count, size, stop_by_jump);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int size = 0, rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kMost; ++i) in[i] = i;
  leave_loops(size);
  const std::size_t before = mallinfo2().uordblks;
  leave_loops(size);
  const std::size_t after = mallinfo2().uordblks;
  if (after > before + (64U << 10)) {
    std::printf("rank %d: %zu bytes became %zu\n", rank, before, after);
    ++errors;
  }
  MPI_Finalize();
  return errors == 0 ? 0 : 1;
}
