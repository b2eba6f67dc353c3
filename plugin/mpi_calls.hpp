// SPDX-License-Identifier: BSD-3-Clause
// plugin/mpi_calls.hpp: the MPI procedures that the pass knows, by name, and the role of each argument.
#pragma once
#include <llvm/IR/InstrTypes.h>

#include <cstdint>

namespace herald::plans {

// MPIX_PLAN_* of mpix.h.
constexpr int kSend = 17, kReceive = 18;
constexpr int kLarge = 1, kInPlace = 2;
constexpr std::int64_t kUnknown = INT32_MIN;

constexpr int kMostNames = 40;  // of one variable, that are followed

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
  partner = 'P',
  tag = 'g',
  status = 'x',
  request = 'q',
  none = '-',  // of a procedure that has two rows
};

// A blocking collective, or a send or receive. Operations are numbered as MPIX_PLAN_* in mpix.h.
struct Procedure {
  const char* name;   // without MPI_ and _c
  const char* roles;  // one letter per argument
  int operation;

  bool is_message() const { return operation >= kSend; }
};

// A collective.
struct KnownCall {
  const Procedure* collective = nullptr;  // null: not one
  bool large = false;                     // the _c form
};

KnownCall known_call(const llvm::CallBase& call);
// The message that a call sends or receives; MPI_Sendrecv does both.
llvm::SmallVector<const Procedure*, 2> messages_of(const llvm::CallBase& call);
bool is_large(const llvm::CallBase& call);
llvm::Value* argument(const llvm::CallBase& call, const Procedure& collective, Role role);  // null: none
const char* name_of(Role role);
bool is_array(Role role);
bool is_buffer(Role role);
// What a hint about messages does not tell: tag, status, request.
bool is_left_out(Role role);

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
// The procedure keeps no address that is passed to it at this place, once it has returned.
bool forgets_argument(const llvm::CallBase& call, unsigned index);

}  // namespace herald::plans
