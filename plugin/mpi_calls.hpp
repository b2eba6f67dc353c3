// SPDX-License-Identifier: BSD-3-Clause
// plugin/mpi_calls.hpp: the MPI procedures that the pass knows, by name, and the role of each argument.
#pragma once
#include <llvm/IR/InstrTypes.h>

#include <cstdint>

namespace herald::plans {

// Role of an argument; capital letters are arrays.
enum class Role : char {
  sendbuf = 's',
  sendcount = 'm',
  sendcounts = 'M',
  sdispls = 'E',
  sendtype = 'u',
  sendtypes = 'U',
  recvbuf = 'b',
  recvcount = 'n',
  recvcounts = 'N',
  rdispls = 'D',
  recvtype = 't',
  recvtypes = 'T',
  op = 'o',
  root = 'R',
  comm = 'c',
};

// A blocking collective. Operations are numbered as MPIX_PLAN_* in mpix.h.
struct Collective {
  const char* name;   // without MPI_ and _c
  const char* roles;  // one letter per argument
  int operation;
};

struct KnownCall {
  const Collective* collective = nullptr;  // null: not one
  bool large = false;                      // the _c form
};

// MPIX_PLAN_* of mpix.h.
constexpr int kLarge = 1, kInPlace = 2;
constexpr std::int64_t kUnknown = INT32_MIN;

KnownCall known_call(const llvm::CallBase& call);
llvm::Value* argument(const llvm::CallBase& call, const Collective& collective, Role role);  // null: none
const char* name_of(Role role);
bool is_array(Role role);

// The function that is called, also through a cast; null if it is not known.
const llvm::Function* callee_of(const llvm::CallBase& call);
llvm::StringRef name_of_callee(const llvm::CallBase& call);
// Blocking calls that read and write user memory through their arguments only, and call no user function.
bool touches_arguments_only(const llvm::CallBase& call);
// The buffers that such a call may write.
llvm::SmallVector<const llvm::Value*, 2> written_arguments(const llvm::CallBase& call);
// A constant that the ABI defines: MPI_IN_PLACE, a predefined handle.
bool is_in_place(const llvm::Value* value);
bool is_predefined(const llvm::Value* value);
bool is_world(const llvm::Value* value);  // MPI_COMM_WORLD
// Sends and receives: the index of the partner, -1 for other calls.
int partner_of(const llvm::CallBase& call);

}  // namespace herald::plans
