// SPDX-License-Identifier: BSD-3-Clause
// tests/launchers/boot_probe.cpp: uses the room boot only, under every launcher. What could go wrong: a rank
// gets an incomplete value or none; wrong local ranks; a job that continues after one of its ranks failed.
//   boot_probe exchange [BYTES [N]]  put, fence, get from all, check every byte, finalize; N ranks on each
//                                    host (default: all on one)
//   boot_probe missing               get of an unknown key fails with a message, without a hang
//   boot_probe abort RANK CODE       RANK aborts while the others sleep
//   boot_probe fence-abort RANK CODE RANK aborts while the others wait in a fence
//   boot_probe kill RANK             RANK kills itself while the others sleep
//   boot_probe fence-kill RANK       RANK kills itself while the others wait in a fence
//   boot_probe exit RANK CODE        RANK calls exit(CODE) without finalize; its exit handler aborts
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "boot/boot.hpp"

namespace {

using herald::Status;
namespace boot = herald::boot;

boot::Boot* running = nullptr;  // null again after finalize

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "boot_probe: %s\n", what.c_str());
  std::fflush(stderr);
  if (running != nullptr) running->abort({3, what.c_str()});
  ::_exit(3);
}

void must(Status status, const char* what) {
  if (status != Status::ok) fail(std::string{what} + ": " + running->last_error());
}

// As in the MPI layer for a program that exits without MPI_Finalize.
void exit_hook() {
  if (running == nullptr) return;
  running->abort({1, "exit without finalize"});
  ::_exit(1);
}

std::string value_of(int rank, std::size_t bytes) {
  std::string value;
  for (std::size_t i = 0; i < bytes + static_cast<std::size_t>(rank); ++i)
    value += static_cast<char>(static_cast<std::size_t>(rank) * 31 + i * 7);
  return value;
}

void check_local_ranks(int expected) {
  int last = -1;
  bool here = false;
  for (int rank : running->local_ranks()) {
    if (rank <= last || rank >= running->size()) fail("local ranks are not ascending ranks of this job");
    last = rank;
    here |= rank == running->rank();
  }
  if (!here) fail("this rank is not one of its local ranks");
  const auto found = static_cast<int>(running->local_ranks().size());
  if (found != (expected > 0 ? expected : running->size()))
    fail(std::to_string(found) + " of the ranks are local");
}

void exchange(std::size_t bytes, int local) {
  check_local_ranks(local);
  must(running->put("card", value_of(running->rank(), bytes)), "put");
  must(running->put("empty", ""), "put");
  must(running->fence(), "fence");
  for (int rank = 0; rank < running->size(); ++rank) {
    std::string value;
    must(running->get(rank, "card", value), "get");
    if (value != value_of(rank, bytes))
      fail("the value of rank " + std::to_string(rank) + " is not what it put");
    value = "x";
    must(running->get(rank, "empty", value), "get");
    if (!value.empty()) fail("an empty value came back with bytes in it");
  }
  std::printf("exchange ok: %s rank %d of %d, app %d, universe %d\n", running->name(), running->rank(),
              running->size(), running->app_number(), running->universe_size());
}

void missing() {
  must(running->fence(), "fence");
  std::string value;
  for (int rank = 0; rank < running->size(); ++rank) {
    if (running->get(rank, "no-such-key", value) != Status::not_found) fail("a missing key was found");
    if (running->last_error().empty()) fail("a missing key came without words");
  }
  must(running->fence(), "fence");
  std::printf("missing ok: rank %d\n", running->rank());
}

void die(const std::string& how, int code) {
  if (how == "abort" || how == "fence-abort") {
    ::usleep(100'000);  // until the others sleep or wait in the fence
    running->abort({code, "boot_probe was asked to abort"});
    ::_exit(code);
  }
  if (how == "kill" || how == "fence-kill") {
    ::usleep(100'000);
    ::raise(SIGKILL);
  }
  std::exit(code);  // "exit": the handler aborts
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "exchange";
  std::string why;
  auto opened = boot::open(environ, why);
  if (!opened) {
    std::fprintf(stderr, "boot_probe: %s\n", why.c_str());
    return 4;
  }
  running = opened.get();
  std::atexit(exit_hook);

  if (mode == "exchange") {
    exchange(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100, argc > 3 ? std::atoi(argv[3]) : 0);
  } else if (mode == "missing") {
    missing();
  } else if (argc > 2) {
    must(running->fence(), "fence");
    if (running->rank() == std::atoi(argv[2])) die(mode, argc > 3 ? std::atoi(argv[3]) : 0);
    if (mode.starts_with("fence-")) {
      must(running->fence(), "fence");  // the job ends, or the fence fails
    } else {
      ::sleep(60);
    }
    fail("survived");
  } else {
    fail("unknown mode " + mode);
  }
  Status status = running->finalize();
  if (status != Status::ok) fail("finalize: " + running->last_error());
  running = nullptr;
  return 0;
}
