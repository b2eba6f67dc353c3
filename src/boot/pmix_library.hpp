// SPDX-License-Identifier: BSD-3-Clause
// boot/pmix_library.hpp: libpmix, loaded at run time, and the values that its calls take.
#pragma once
#include <string>

#include "boot/pmix_facts.hpp"

namespace herald::boot::pmix {

struct Library {
  InitCall init;
  FinalizeCall finalize;
  PutCall put;
  CommitCall commit;
  FenceCall fence;
  GetCall get;
  AbortCall abort;
  SpawnCall spawn;
  QueryCall query;
  PublishCall publish;
  LookupCall lookup;
  UnpublishCall unpublish;
  ErrorStringCall error_string;
};

// False with `why` if there is none, or an old one.
bool load(Library& library, std::string& why);
// The library's name of this error, and its number.
std::string text_of(const Library& library, Code code);

Info make_info(const char* key, Type type) noexcept;
Info make_flag(const char* key) noexcept;
Info make_text(const char* key, const char* text) noexcept;  // does not own the text

}  // namespace herald::boot::pmix
