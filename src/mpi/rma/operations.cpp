// SPDX-License-Identifier: BSD-3-Clause
// MPI_Put and the other operations, with and without a request.
#include "calls.hpp"
#include "mpi/core/check.hpp"
#include "mpi/rma/plain_access.hpp"

namespace herald::mpi::api {
namespace {

using wire::RmaKind;

constexpr Arg kOrigin{1, "origin_addr"};
constexpr AccessArgs kPutArgs{kOrigin, kOrigin, {4, "target_rank"}, {5, "target_disp"}};
constexpr AccessArgs kFetchArgs{kOrigin, {4, "result_addr"}, {7, "target_rank"}, {8, "target_disp"}};
constexpr AccessArgs kFetchOneArgs{kOrigin, {2, "result_addr"}, {4, "target_rank"}, {5, "target_disp"}};
constexpr AccessArgs kSwapArgs{kOrigin, {3, "result_addr"}, {5, "target_rank"}, {6, "target_disp"}};

[[gnu::always_inline]] inline int run(Call& call, const Access& access) noexcept {
  int result = MPI_SUCCESS;
  const bool done = access.target != MPI_PROC_NULL && try_plain_access(call, access, result);
  return done ? result : run_access(call, access);
}

[[gnu::always_inline]] inline int put_or_get(Call& call, RmaKind kind, const void* origin_addr,
                                             MPI_Count origin_count, Datatype* origin_datatype,
                                             int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                                             Datatype* target_datatype, Op* op, Win* win,
                                             MPI_Request* request) noexcept {
  const OriginBuffer buffer{origin_addr, origin_count, origin_datatype}, none{};
  return run(call, {.kind = kind,
                    .data = kind == RmaKind::get ? none : buffer,
                    .result = kind == RmaKind::get ? buffer : none,
                    .compared = nullptr,
                    .target = target_rank,
                    .args = &kPutArgs,
                    .disp = target_disp,
                    .count = target_count,
                    .type = target_datatype,
                    .op = op,
                    .win = win,
                    .request = request});
}

int fetch(Call& call, const OriginBuffer& origin, const OriginBuffer& result, const AccessArgs& args,
          int target_rank, MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Op* op,
          Win* win, MPI_Request* request) noexcept {
  return run(call, {.kind = RmaKind::get_accumulate,
                    .data = origin,
                    .result = result,
                    .compared = nullptr,
                    .target = target_rank,
                    .args = &args,
                    .disp = target_disp,
                    .count = target_count,
                    .type = target_datatype,
                    .op = op,
                    .win = win,
                    .request = request});
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
  return fetch(call, {origin_addr, origin_count, origin_datatype},
               {result_addr, result_count, result_datatype}, kFetchArgs, target_rank, target_disp,
               target_count, target_datatype, op, win, nullptr);
}

int rget_accumulate(Call& call, const void* origin_addr, MPI_Count origin_count, Datatype* origin_datatype,
                    void* result_addr, MPI_Count result_count, Datatype* result_datatype, int target_rank,
                    MPI_Aint target_disp, MPI_Count target_count, Datatype* target_datatype, Op* op, Win* win,
                    MPI_Request* request) {
  return fetch(call, {origin_addr, origin_count, origin_datatype},
               {result_addr, result_count, result_datatype}, kFetchArgs, target_rank, target_disp,
               target_count, target_datatype, op, win, request);
}

int fetch_and_op(Call& call, const void* origin_addr, void* result_addr, Datatype* datatype, int target_rank,
                 MPI_Aint target_disp, Op* op, Win* win) {
  if (target_rank != MPI_PROC_NULL && check_single(call, *datatype, false) != MPI_SUCCESS)
    return call.error();
  return fetch(call, {origin_addr, 1, datatype}, {result_addr, 1, datatype}, kFetchOneArgs, target_rank,
               target_disp, 1, datatype, op, win, nullptr);
}

int compare_and_swap(Call& call, const void* origin_addr, const void* compare_addr, void* result_addr,
                     Datatype* datatype, int target_rank, MPI_Aint target_disp, Win* win) {
  if (target_rank != MPI_PROC_NULL) {
    (void)check_single(call, *datatype, true);
    check_pointer(call, compare_addr, {2, "compare_addr"});
    if (call.failed()) return call.error();
  }
  return run(call, {.kind = RmaKind::compare_swap,
                    .data = {origin_addr, 1, datatype},
                    .result = {result_addr, 1, datatype},
                    .compared = compare_addr,
                    .target = target_rank,
                    .args = &kSwapArgs,
                    .disp = target_disp,
                    .count = 1,
                    .type = datatype,
                    .op = nullptr,
                    .win = win,
                    .request = nullptr});
}

}  // namespace herald::mpi::api
