// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmix_library.hpp"

#include <dlfcn.h>

#include <cstring>

#include "base/symbol.hpp"

namespace herald::boot::pmix {

bool load(Library& library, std::string& why) {
  constexpr char kFile[] = "libpmix.so.2";
  void* handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    why = std::string{"PMIX_NAMESPACE is set, but the PMIx library cannot be opened: "} +
          (reason != nullptr ? reason : kFile) +
          "; install it (Debian, Ubuntu: libpmix2), or start with srun --mpi=pmi2, Hydra or Herald's mpiexec";
    return false;
  }
  const auto find = [handle](const char* name, auto& call) { return find_symbol(handle, name, call); };
  const bool all = find("PMIx_Init", library.init) && find("PMIx_Finalize", library.finalize) &&
                   find("PMIx_Put", library.put) && find("PMIx_Commit", library.commit) &&
                   find("PMIx_Fence", library.fence) && find("PMIx_Get", library.get) &&
                   find("PMIx_Abort", library.abort) && find("PMIx_Spawn", library.spawn) &&
                   find("PMIx_Query_info", library.query) && find("PMIx_Publish", library.publish) &&
                   find("PMIx_Lookup", library.lookup) && find("PMIx_Unpublish", library.unpublish) &&
                   find("PMIx_Error_string", library.error_string);
  if (!all) why = std::string{kFile} + " is not a PMIx library of version 4 or later";
  return all;
}

std::string text_of(const Library& library, Code code) {
  const char* text = library.error_string(code);
  return std::string{text != nullptr ? text : "error"} + " (" + std::to_string(code) + ")";
}

Info make_info(const char* key, Type type) noexcept {
  Info info{};
  std::strncpy(info.key, key, kLongestKey);
  info.value.type = type;
  return info;
}

Info make_flag(const char* key) noexcept {
  Info info = make_info(key, Type::boolean);
  info.value.data.flag = true;
  return info;
}

Info make_text(const char* key, const char* text) noexcept {
  Info info = make_info(key, Type::string);
  info.value.data.string = const_cast<char*>(text);
  return info;
}

}  // namespace herald::boot::pmix
