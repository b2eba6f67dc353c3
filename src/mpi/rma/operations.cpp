// SPDX-License-Identifier: BSD-3-Clause
// MPI_Put and the other operations, with and without a request.
#include "calls.hpp"
#include "mpi/core/check.hpp"
#include "mpi/rma/access.hpp"

namespace herald::mpi::api {
namespace {

using wire::RmaKind;

// Without kind and buffers. `rank_number`: of the argument target_rank, which target_disp follows.
Access access_at(int target_rank, int rank_number, MPI_Aint target_disp, MPI_Count target_count,
                 Datatype* target_datatype, Win* win) noexcept {
  Access access{};
  access.target = target_rank;
  access.target_arg = {rank_number, "target_rank"};
  access.disp = target_disp;
  access.disp_arg = {rank_number + 1, "target_disp"};
  access.count = target_count;
  access.type = target_datatype;
  access.win = win;
  return access;
}

int put_or_get(Call& call, RmaKind kind, const void* origin_addr, MPI_Count origin_count,
               Datatype* origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               Datatype* target_datatype, Op* op, Win* win, MPI_Request* request) noexcept {
  Access access = access_at(target_rank, 4, target_disp, target_count, target_datatype, win);
  access.kind = kind;
  (kind == RmaKind::get ? access.result : access.data) = {
      origin_addr, origin_count, origin_datatype, {1, "origin_addr"}};
  access.op = op;
  access.request = request;
  return run_access(call, access);
}

int fetch(Call& call, const OriginBuffer& origin, const OriginBuffer& result, int target_rank,
          MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Op* op, Win* win,
          MPI_Request* request) noexcept {
  Access access = access_at(target_rank, 7, target_disp, target_count, target_datatype, win);
  access.kind = RmaKind::get_accumulate;
  access.data = origin;
  access.result = result;
  access.op = op;
  access.request = request;
  return run_access(call, access);
}

// One element of a predefined datatype.
int check_single(Call& call, const Datatype& datatype, bool compares) noexcept {
  const type::Class klass = type::row_of(datatype.layout->basic()).klass;
  const bool comparable = klass != type::Class::floating && klass != type::Class::complex &&
                          klass != type::Class::pair && klass != type::Class::none;
  if (datatype.predefined && (!compares || comparable)) return MPI_SUCCESS;
  return call.fail(MPI_ERR_TYPE, "the datatype must be a predefined %s one",
                   compares ? "integer, logical or byte" : "");
}

}  // namespace

int put(Call& call, const void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype,
        int target_rank, MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Win* win) {
  return put_or_get(call, RmaKind::put, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, nullptr, win, nullptr);
}

int rput(Call& call, const void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype,
         int target_rank, MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Win* win,
         MPI_Request* request) {
  return put_or_get(call, RmaKind::put, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, nullptr, win, request);
}

int get(Call& call, void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype, int target_rank,
        MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Win* win) {
  return put_or_get(call, RmaKind::get, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, nullptr, win, nullptr);
}

int rget(Call& call, void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Win* win,
         MPI_Request* request) {
  return put_or_get(call, RmaKind::get, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, nullptr, win, request);
}

int accumulate(Call& call, const void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype,
               Op* op, Win* win) {
  return put_or_get(call, RmaKind::accumulate, origin_addr, origin_count, origin_datatype, target_rank,
                    target_disp, target_count, target_datatype, op, win, nullptr);
}

int raccumulate(Call& call, const void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype,
                Op* op, Win* win, MPI_Request* request) {
  return put_or_get(call, RmaKind::accumulate, origin_addr, origin_count, origin_datatype, target_rank,
                    target_disp, target_count, target_datatype, op, win, request);
}

int get_accumulate(Call& call, const void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype,
                   void* result_addr, MPI_Count result_count, Datatype* result_datatype, int target_rank,
                   MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Op* op,
                   Win* win) {
  return fetch(call, {origin_addr, origin_count, origin_datatype, {1, "origin_addr"}},
               {result_addr, result_count, result_datatype, {4, "result_addr"}}, target_rank, target_disp,
               target_count, target_datatype, op, win, nullptr);
}

int rget_accumulate(Call& call, const void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype,
                    void* result_addr, MPI_Count result_count, Datatype* result_datatype, int target_rank,
                    MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Op* op, Win* win,
                    MPI_Request* request) {
  return fetch(call, {origin_addr, origin_count, origin_datatype, {1, "origin_addr"}},
               {result_addr, result_count, result_datatype, {4, "result_addr"}}, target_rank, target_disp,
               target_count, target_datatype, op, win, request);
}

int fetch_and_op(Call& call, const void* origin_addr, void* result_addr, Datatype* datatype, int target_rank,
                 MPI_Aint target_disp, Op* op, Win* win) {
  if (target_rank != MPI_PROC_NULL && check_single(call, *datatype, false) != MPI_SUCCESS)
    return call.error();
  Access access = access_at(target_rank, 4, target_disp, 1, datatype, win);
  access.kind = RmaKind::get_accumulate;
  access.data = {origin_addr, 1, datatype, {1, "origin_addr"}};
  access.result = {result_addr, 1, datatype, {2, "result_addr"}};
  access.op = op;
  return run_access(call, access);
}

int compare_and_swap(Call& call, const void* origin_addr, const void* compare_addr, void* result_addr,
                     Datatype* datatype, int target_rank, MPI_Aint target_disp, Win* win) {
  if (target_rank != MPI_PROC_NULL) {
    (void)check_single(call, *datatype, true);
    check_pointer(call, compare_addr, {2, "compare_addr"});
    if (call.failed()) return call.error();
  }
  Access access = access_at(target_rank, 5, target_disp, 1, datatype, win);
  access.kind = RmaKind::compare_swap;
  access.data = {origin_addr, 1, datatype, {1, "origin_addr"}};
  access.result = {result_addr, 1, datatype, {3, "result_addr"}};
  access.compared = compare_addr;
  return run_access(call, access);
}

}  // namespace herald::mpi::api
