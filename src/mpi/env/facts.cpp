// SPDX-License-Identifier: BSD-3-Clause
// Version, processor name, clock, Fortran facts; memory for messages.
#include <cstdlib>
#include <cstring>
#include <set>

#include "calls.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi::api {
namespace {

constexpr char kVersion[] = "Herald " HERALD_VERSION " (MPI 5.0, ABI 1.0)";
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMessageAlignment = 64;  // a cache line, which vector instructions prefer

// Allocated by MPI_Alloc_mem and not freed yet.
std::set<void*>& allocations() noexcept {
  static auto& set = *new std::set<void*>;
  return set;
}

// The representation of Fortran's LOGICAL, if a Fortran layer has set it: by size in bytes.
struct FortranLogical {
  bool set = false;
  unsigned char yes[16], no[16];
};
FortranLogical& fortran_logical(int size) noexcept {
  static FortranLogical rows[5];  // 1, 2, 4, 8, 16 bytes
  return rows[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4];
}
bool is_logical_size(int size) noexcept {
  return size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
}
Info*& fortran_info() noexcept {
  static Info* info = nullptr;
  return info;
}

int copy_text(Call& call, const char* text, char* out, int* length) noexcept {
  if (out == nullptr) return call.fail(MPI_ERR_ARG, "argument 1 is a null pointer; give a buffer");
  std::strcpy(out, text);
  *length = static_cast<int>(std::strlen(text));
  return MPI_SUCCESS;
}

}  // namespace

int get_version(Call&, int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int get_library_version(Call& call, char* version, int* resultlen) {
  static_assert(sizeof kVersion < MPI_MAX_LIBRARY_VERSION_STRING);
  return copy_text(call, kVersion, version, resultlen);
}

int get_processor_name(Call& call, char* name, int* resultlen) {
  char text[MPI_MAX_PROCESSOR_NAME] = "";
  std::strncpy(text, host_name(), sizeof text - 1);
  return copy_text(call, text, name, resultlen);
}

int abi_get_version(Call&, int* abi_major, int* abi_minor) {
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

int abi_get_info(Call&, MPI_Info* info) {
  Info* made = new_info();
  info_put(*made, "mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
  info_put(*made, "mpi_count_size", std::to_string(sizeof(MPI_Count)));
  info_put(*made, "mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
  *info = handle_of(made);
  return MPI_SUCCESS;
}

// MPI_INFO_NULL until a Fortran layer has set the facts.
int abi_get_fortran_info(Call&, MPI_Info* info) {
  if (fortran_info() == nullptr) {
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
  }
  Info* made = new_info();
  made->entries = fortran_info()->entries;
  *info = handle_of(made);
  return MPI_SUCCESS;
}

int abi_set_fortran_info(Call& call, Info* info) {
  if (info == nullptr)
    return call.fail(MPI_ERR_INFO, "argument 1 (info) is MPI_INFO_NULL; give an info object");
  if (fortran_info() != nullptr)
    return call.fail(MPI_ERR_ABI, "the Fortran information has been set before; it can be set once");
  fortran_info() = new Info;
  fortran_info()->entries = info->entries;
  return MPI_SUCCESS;
}

int abi_get_fortran_booleans(Call& call, int logical_size, void* logical_true, void* logical_false,
                             int* is_set) {
  if (!is_logical_size(logical_size))
    return call.fail(MPI_ERR_ARG, "argument 1 (logical_size) is %d; LOGICAL has 1, 2, 4, 8 or 16 bytes",
                     logical_size);
  const FortranLogical& row = fortran_logical(logical_size);
  *is_set = row.set;
  if (row.set) {
    std::memcpy(logical_true, row.yes, static_cast<std::size_t>(logical_size));
    std::memcpy(logical_false, row.no, static_cast<std::size_t>(logical_size));
  }
  return MPI_SUCCESS;
}

int abi_set_fortran_booleans(Call& call, int logical_size, void* logical_true, void* logical_false) {
  if (!is_logical_size(logical_size))
    return call.fail(MPI_ERR_ARG, "argument 1 (logical_size) is %d; LOGICAL has 1, 2, 4, 8 or 16 bytes",
                     logical_size);
  if (logical_true == nullptr || logical_false == nullptr)
    return call.fail(MPI_ERR_ARG, "argument %d is a null pointer; give the address of a value",
                     logical_true == nullptr ? 2 : 3);
  FortranLogical& row = fortran_logical(logical_size);
  if (row.set)
    return call.fail(MPI_ERR_ABI,
                     "the Fortran values for this size have been set before; they can be set once");
  row.set = true;
  std::memcpy(row.yes, logical_true, static_cast<std::size_t>(logical_size));
  std::memcpy(row.no, logical_false, static_cast<std::size_t>(logical_size));
  return MPI_SUCCESS;
}

int alloc_mem(Call& call, MPI_Aint size, Info* info, void* baseptr) {
  if (size < 0)
    return call.fail(MPI_ERR_SIZE, "argument 1 (size) is %lld; it must not be negative",
                     static_cast<long long>(size));
  std::size_t alignment = kMessageAlignment;
  const std::string* requested =
      info == nullptr ? nullptr : info_value(*info, "mpi_minimum_memory_alignment");
  if (requested != nullptr) {
    const unsigned long long value = std::strtoull(requested->c_str(), nullptr, 10);
    while (alignment < value && alignment < (std::size_t{1} << 30)) alignment *= 2;
  }
  void* memory = alignment <= kPage && runtime().live()
                     ? runtime().engine().memory().take(static_cast<std::size_t>(size))
                     : nullptr;
  if (memory == nullptr &&
      ::posix_memalign(&memory, alignment, static_cast<std::size_t>(size > 0 ? size : 1)) != 0)
    return call.fail(MPI_ERR_NO_MEM, "there is no memory for %lld bytes", static_cast<long long>(size));
  allocations().insert(memory);
  *static_cast<void**>(baseptr) = memory;
  return MPI_SUCCESS;
}

int free_mem(Call& call, void* base) {
  if (base == nullptr) return MPI_SUCCESS;
  if (allocations().erase(base) == 0)
    return call.fail(MPI_ERR_BASE,
                     "argument 1 (base) is not memory that MPI_Alloc_mem gave, or it has been freed");
  if (!runtime().has_engine() || !runtime().engine().memory().give_back(base)) std::free(base);
  return MPI_SUCCESS;
}

}  // namespace herald::mpi::api
