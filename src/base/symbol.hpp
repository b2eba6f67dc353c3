// SPDX-License-Identifier: BSD-3-Clause
// base/symbol.hpp: functions of a library that was opened at run time.
#pragma once
#include <dlfcn.h>

namespace herald {

// False: the library has no such function.
template <class Call>
bool find_symbol(void* library, const char* name, Call& call) noexcept {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

}  // namespace herald
