// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/tables.hpp: the tables behind the handles.
#pragma once
#include <atomic>

#include "mpi/core/objects.hpp"
#include "mpi/core/request.hpp"

namespace herald::mpi {

struct Tables {
  HandleTable<Comm> comms;
  HandleTable<Group> groups;
  HandleTable<Errhandler> errhandlers;
  HandleTable<Datatype> datatypes;
  HandleTable<Op> ops;
  HandleTable<Info> infos;
  HandleTable<Session> sessions;
  HandleTable<Win> wins;
  HandleTable<File> files;
  HandleTable<Request> requests;

  // Predefined objects; never destroyed.
  Group* empty_group = nullptr;
  Errhandler *fatal = nullptr, *abort = nullptr, *give_back = nullptr;
  Info* env_info = nullptr;
};

// Fills in predefined_datatypes (mpi/type/predefined.cpp): objects made with new, with `predefined`,
// `committed`, their handle, layout and name set. Called once, when the tables are made.
void make_predefined_datatypes() noexcept;

// Of this process; made on first use, never destroyed.
extern std::atomic<Tables*> the_tables;
Tables& make_tables() noexcept;
inline Tables& tables() noexcept {
  Tables* made = the_tables.load(std::memory_order_acquire);
  return made != nullptr ? *made : make_tables();
}

}  // namespace herald::mpi
