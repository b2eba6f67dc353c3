// SPDX-License-Identifier: BSD-3-Clause
// mpi/attr.hpp: attributes that the program hangs on communicators and datatypes: copied when the object is
// duplicated, deleted when it is freed, with the callbacks of their keys.
#pragma once
#include "mpi/objects.hpp"

namespace herald::mpi {

class Call;

// Copies what the keys' copy callbacks let pass. If a callback fails: deletes what has been copied so far,
// and returns the failure of `call`; `to` then has no attributes.
int copy_attributes(Call& call, Comm& from, Comm& to) noexcept;
int copy_attributes(Call& call, Datatype& from, Datatype& to) noexcept;

// Calls the delete callbacks, the attribute set last first. Stops at the first that fails: it and those set
// before it stay. The object's handle must still be valid, since it is handed to the callbacks.
int delete_attributes(Call& call, Comm& comm) noexcept;
int delete_attributes(Call& call, Datatype& datatype) noexcept;

}  // namespace herald::mpi
