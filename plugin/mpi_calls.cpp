// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_calls.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>

#include <cstring>
#include <iterator>

using namespace llvm;

namespace herald::plans {
namespace {

constexpr Procedure kCollectives[] = {
    {"Barrier", "c", 0},
    {"Bcast", "bntRc", 1},
    {"Gather", "smubntRc", 2},
    {"Gatherv", "smubNDtRc", 3},
    {"Scatter", "smubntRc", 4},
    {"Scatterv", "sMEubntRc", 5},
    {"Allgather", "smubntc", 6},
    {"Allgatherv", "smubNDtc", 7},
    {"Alltoall", "smubntc", 8},
    {"Alltoallv", "sMEubNDtc", 9},
    {"Alltoallw", "sMEUbNDTc", 10},
    {"Reduce", "sbntoRc", 11},
    {"Allreduce", "sbntoc", 12},
    {"Reduce_scatter", "sbNtoc", 13},
    {"Reduce_scatter_block", "sbntoc", 14},
    {"Scan", "sbntoc", 15},
    {"Exscan", "sbntoc", 16},
};

// A procedure that sends and receives has two rows.
constexpr Procedure kMessages[] = {
    {"Send", "smuPgc", kSend},           {"Ssend", "smuPgc", kSend},
    {"Rsend", "smuPgc", kSend},          {"Isend", "smuPgcq", kSend},
    {"Issend", "smuPgcq", kSend},        {"Irsend", "smuPgcq", kSend},
    {"Recv", "bntPgcx", kReceive},       {"Irecv", "bntPgcq", kReceive},
    {"Sendrecv", "smuPg-----cx", kSend}, {"Sendrecv", "-----bntPgcx", kReceive},
};

// Others that keep no address of a variable.
constexpr const char* kForgetful[] = {
    "Init",        "Init_thread", "Initialized", "Finalized", "Abort",           "Wait",
    "Waitall",     "Comm_dup",    "Comm_split",  "Comm_free", "Comm_create",     "Comm_group",
    "Cart_create", "Cart_shift",  "Cart_coords", "Cart_rank", "Cart_get",        "Dims_create",
    "Type_commit", "Type_vector", "Type_free",   "Type_size", "Type_contiguous", "Get_processor_name",
};

// Calls that write these arguments only; -1: none.
struct Quiet {
  const char* name;
  int first, second;
};
constexpr Quiet kQuiet[] = {
    {"Comm_rank", 1, -1}, {"Comm_size", 1, -1}, {"Wtime", -1, -1},   {"Wtick", -1, -1},    {"Send", -1, -1},
    {"Ssend", -1, -1},    {"Recv", 0, 6},       {"Sendrecv", 5, 11}, {"Get_count", 2, -1},
};

const Quiet* quiet_call(StringRef name) {
  if (!name.consume_front("MPI_")) return nullptr;
  (void)name.consume_back("_c");
  for (const Quiet& row : kQuiet)
    if (name == row.name) return &row;
  return nullptr;
}

constexpr std::uint64_t kFirstUserHandle = 4096;

std::uint64_t constant_address(const Value* value) {
  value = value->stripPointerCasts();
  if (isa<ConstantPointerNull>(value)) return 0;
  const auto* expr = dyn_cast<ConstantExpr>(value);
  if (expr == nullptr || expr->getOpcode() != Instruction::IntToPtr) return UINT64_MAX;
  const auto* number = dyn_cast<ConstantInt>(expr->getOperand(0));
  return number == nullptr ? UINT64_MAX : number->getZExtValue();
}

}  // namespace

const Function* callee_of(const CallBase& call) {
  return dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
}

StringRef name_of_callee(const CallBase& call) {
  const Function* callee = callee_of(call);
  return callee == nullptr ? StringRef() : callee->getName();
}

KnownCall known_call(const CallBase& call) {
  StringRef name = name_of_callee(call);
  if (!name.consume_front("MPI_")) return {};
  const bool large = name.consume_back("_c");
  for (const Procedure& row : kCollectives)
    if (name == row.name && call.arg_size() == std::strlen(row.roles) &&
        argument(call, row, Role::comm)->getType()->isPointerTy())
      return {&row, large};
  return {};
}

SmallVector<const Procedure*, 2> messages_of(const CallBase& call) {
  StringRef name = name_of_callee(call);
  if (!name.consume_front("MPI_")) return {};
  (void)name.consume_back("_c");
  SmallVector<const Procedure*, 2> found;
  for (const Procedure& row : kMessages)
    if (name == row.name && call.arg_size() == std::strlen(row.roles) &&
        argument(call, row, Role::comm)->getType()->isPointerTy())
      found.push_back(&row);
  return found;
}

bool is_large(const CallBase& call) { return name_of_callee(call).take_back(2) == "_c"; }

Value* argument(const CallBase& call, const Procedure& collective, Role role) {
  const char* found = std::strchr(collective.roles, static_cast<char>(role));
  return found == nullptr ? nullptr : call.getArgOperand(static_cast<unsigned>(found - collective.roles));
}

bool is_array(Role role) {
  switch (role) {
    case Role::sendcounts:
    case Role::sdispls:
    case Role::sendtypes:
    case Role::recvcounts:
    case Role::rdispls:
    case Role::recvtypes: return true;
    default: return false;
  }
}

bool is_buffer(Role role) { return role == Role::sendbuf || role == Role::recvbuf; }

bool is_left_out(Role role) {
  return role == Role::tag || role == Role::status || role == Role::request || role == Role::none;
}

const char* name_of(Role role) {
  switch (role) {
    case Role::sendbuf: return "sendbuf";
    case Role::sendcount: return "sendcount";
    case Role::sendcounts: return "sendcounts";
    case Role::sdispls: return "send displacements";
    case Role::sendtype: return "sendtype";
    case Role::sendtypes: return "sendtypes";
    case Role::recvbuf: return "receive buffer";
    case Role::recvcount: return "count";
    case Role::recvcounts: return "recvcounts";
    case Role::rdispls: return "displacements";
    case Role::recvtype: return "datatype";
    case Role::recvtypes: return "recvtypes";
    case Role::op: return "operation";
    case Role::root: return "root";
    case Role::comm: return "communicator";
    case Role::partner: return "partner";
    case Role::tag: return "tag";
    case Role::status: return "status";
    case Role::request: return "request";
    case Role::none: break;
  }
  return "";
}

bool touches_arguments_only(const CallBase& call) {
  const KnownCall known = known_call(call);
  if (known.collective == nullptr) return quiet_call(name_of_callee(call)) != nullptr;
  const Value* op = argument(call, *known.collective, Role::op);
  return op == nullptr || is_predefined(op);
}

SmallVector<const Value*, 2> written_arguments(const CallBase& call) {
  SmallVector<const Value*, 2> found;
  const auto add = [&](const Value* value) {
    if (value != nullptr && !(isa<Constant>(value) && is_predefined(value))) found.push_back(value);
  };
  if (const KnownCall known = known_call(call); known.collective != nullptr) {
    add(argument(call, *known.collective, Role::recvbuf));
  } else if (const Quiet* quiet = quiet_call(name_of_callee(call))) {
    for (const int index : {quiet->first, quiet->second})
      if (index >= 0 && static_cast<unsigned>(index) < call.arg_size())
        add(call.getArgOperand(static_cast<unsigned>(index)));
  }
  return found;
}

bool is_in_place(const Value* value) { return constant_address(value) == 1; }

bool is_predefined(const Value* value) { return constant_address(value) < kFirstUserHandle; }

bool is_world(const Value* value) { return constant_address(value) == 0x101; }

bool forgets_argument(const CallBase& call, unsigned index) {
  if (touches_arguments_only(call)) return true;
  for (const Procedure* message : messages_of(call))
    if (message->roles[index] == static_cast<char>(Role::request)) return true;
  StringRef name = name_of_callee(call);
  return name.consume_front("MPI_") && any_of(kForgetful, [&](const char* one) { return name == one; });
}

}  // namespace herald::plans
