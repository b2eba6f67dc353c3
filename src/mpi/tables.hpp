// SPDX-License-Identifier: BSD-3-Clause
// mpi/tables.hpp: the tables behind the handles.
#pragma once
#include "mpi/objects.hpp"
#include "mpi/request.hpp"

namespace herald::mpi {

struct Tables {
  HandleTable<Comm> comms;
  HandleTable<Group> groups;
  HandleTable<Errhandler> errhandlers;
  HandleTable<Datatype> datatypes;
  HandleTable<Op> ops;
  HandleTable<Info> infos;
  HandleTable<Session> sessions;
  HandleTable<Request> requests;
};

// Of this process; never destroyed.
Tables& tables() noexcept;

}  // namespace herald::mpi
