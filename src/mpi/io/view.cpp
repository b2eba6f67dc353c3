// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_set_view and MPI_File_get_view.
#include <cstring>
#include <functional>
#include <string>

#include "calls.hpp"
#include "mpi/io/file.hpp"

namespace herald::mpi {
namespace {

struct NewView {
  MPI_Offset disp;
  const Datatype *etype, *filetype;
  const Datarep* datarep;
  const char* datarep_name;
  io::View view;
};

Failure check_disp(const FileState& state, MPI_Offset disp) noexcept {
  if (state.sequential() && disp != MPI_DISPLACEMENT_CURRENT)
    return {MPI_ERR_ARG, "argument 2 (disp) must be MPI_DISPLACEMENT_CURRENT with MPI_MODE_SEQUENTIAL"};
  if (!state.sequential() && disp < 0)
    return {MPI_ERR_ARG,
            "argument 2 (disp) is " + std::to_string(disp) +
                "; it must not be negative (MPI_DISPLACEMENT_CURRENT is for MPI_MODE_SEQUENTIAL)"};
  return {};
}

Failure check_order(const FileState& state, const type::Layout& layout, const char* argument) noexcept {
  const io::Order order = io::order_of(layout);
  const char* why = nullptr;
  if (layout.true_lb() < 0)
    why = " has negative displacements";
  else if (order == io::Order::decreasing)
    why = " has displacements that decrease";
  else if (order == io::Order::overlapping && state.can_write())
    why = " has pieces that overlap, in a file that can be written";
  return why == nullptr ? Failure{} : Failure{MPI_ERR_IO, std::string("argument ") + argument + why};
}

Failure make_view(const FileState& state, NewView& made) noexcept {
  if (!made.etype->committed || !made.filetype->committed)
    return {MPI_ERR_TYPE, "argument 3 (etype) or 4 (filetype) is not committed; call MPI_Type_commit first"};
  if (made.datarep == nullptr)
    return {MPI_ERR_UNSUPPORTED_DATAREP,
            std::string("argument 5 (datarep): \"") + made.datarep_name +
                "\" is not known; use native, internal, external32 or a registered one"};
  const type::LayoutRef etype = file_layout(*made.datarep, *made.etype);
  const type::LayoutRef filetype = file_layout(*made.datarep, *made.filetype);
  if (!etype || !filetype)
    return {MPI_ERR_CONVERSION,
            "the size of a datatype in representation \"" + made.datarep->name + "\" is not known"};
  if (etype->size() == 0) return {MPI_ERR_ARG, "argument 3 (etype) has no data"};
  if (filetype->size() % etype->size() != 0)
    return {MPI_ERR_ARG, "argument 4 (filetype) has " + std::to_string(filetype->size()) +
                             " bytes, which is no whole number of etypes of " +
                             std::to_string(etype->size()) + " bytes"};
  if (Failure bad = check_order(state, *etype, "3 (etype)")) return bad;
  if (Failure bad = check_order(state, *filetype, "4 (filetype)")) return bad;
  made.view = io::View(made.disp, *etype, *filetype);
  return {};
}

}  // namespace

namespace api {

int file_set_view(Call& call, File* fh, MPI_Offset disp, Datatype* etype, Datatype* filetype,
                  const char* datarep, Info* info) {
  FileState& state = state_of(*fh);
  NewView made{disp, etype, filetype, find_datarep(datarep), datarep, {}};
  Failure mine;
  if (state.split.kind != SplitOperation::Kind::none)
    mine = {MPI_ERR_OTHER, "a split collective access has begun and not ended"};
  if (!mine) mine = check_disp(state, disp);
  if (!mine && state.sequential()) {
    MPI_Offset now = 0;
    mine = fetch_add_shared(state, 0, now);
    made.disp = state.view.offset_of(now * state.view.etype_bytes());
  }
  if (!mine) mine = make_view(state, made);
  // All ranks have come before the shared pointer is reset, and it is reset before one of them goes on.
  const std::uint64_t same =
      std::hash<std::string>{}(datarep) + static_cast<std::uint64_t>(made.view.etype_bytes());
  if (Failure failure = agree_on(*fh, mine, static_cast<std::int64_t>(same), "3 (etype) or 5 (datarep)"))
    return fail(call, failure);
  take_hints(state, info);
  state.view = made.view;
  ++state.view_number;
  state.datarep = made.datarep;
  state.types.ingredients.clear();
  state.types.add(*etype);
  state.types.add(*filetype);
  state.position = 0;
  if (fh->comm->rank == 0) mine = store_shared(state, 0);
  return fail(call, agree(*fh, mine));
}

int file_get_view(Call& call, File* fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                  char* datarep) {
  FileState& state = state_of(*fh);
  if (datarep == nullptr)
    return call.fail(MPI_ERR_ARG,
                     "argument 5 (datarep) is a null pointer; give a buffer of MPI_MAX_DATAREP_STRING");
  *disp = state.view.disp();
  *etype = again(state.types.ingredients[0]);
  *filetype = again(state.types.ingredients[1]);
  std::memcpy(datarep, state.datarep->name.c_str(), state.datarep->name.size() + 1);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
