// SPDX-License-Identifier: BSD-3-Clause
// Info objects: lists of key and value, both text.
#include "mpi/core/info.hpp"

#include <cstring>

#include "calls.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {

const std::string* info_value(const Info& info, const char* key) noexcept {
  for (const auto& entry : info.entries)
    if (entry.first == key) return &entry.second;
  return nullptr;
}

void info_put(Info& info, const char* key, std::string value) noexcept {
  for (auto& entry : info.entries) {
    if (entry.first != key) continue;
    entry.second = std::move(value);
    return;
  }
  info.entries.emplace_back(key, std::move(value));
}

bool info_remove(Info& info, const char* key) noexcept {
  for (std::size_t i = 0; i < info.entries.size(); ++i) {
    if (info.entries[i].first != key) continue;
    info.entries.erase(info.entries.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

Info* new_info() noexcept { return tables().infos.create(); }

namespace api {
namespace {

// False, with the call failed, if the text cannot be a key.
bool good_key(Call& call, const char* key) noexcept {
  const std::size_t length = std::strlen(key);
  if (length > 0 && length < MPI_MAX_INFO_KEY) return true;
  return call.fail(MPI_ERR_INFO_KEY, "argument 2 (key) has %zu characters; a key has 1 to %d", length,
                   MPI_MAX_INFO_KEY - 1);
}

bool writable(Call& call, const Info* info) noexcept {
  if (info != tables().env_info) return true;
  return call.fail(MPI_ERR_INFO,
                   "argument 1 (info) is MPI_INFO_ENV, which cannot be changed; change a copy "
                   "made with MPI_Info_dup");
}

// The value, cut to `room` characters and ended by a zero.
void give_value(const std::string& value, std::size_t room, char* out) noexcept {
  const std::size_t length = value.size() < room ? value.size() : room;
  std::memcpy(out, value.data(), length);
  out[length] = '\0';
}

}  // namespace

int info_create(Call&, MPI_Info* info) {
  *info = handle_of(new_info());
  return MPI_SUCCESS;
}

int info_dup(Call&, Info* info, MPI_Info* newinfo) {
  Info* copy = new_info();
  copy->entries = info->entries;
  *newinfo = handle_of(copy);
  return MPI_SUCCESS;
}

int info_free(Call& call, MPI_Info* info) {
  Info* object = call.object(*info, {1, "info"});
  if (object == nullptr || !writable(call, object)) return call.error();
  tables().infos.destroy(object);
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int info_set(Call& call, Info* info, const char* key, const char* value) {
  const std::size_t length = std::strlen(value);
  if (!writable(call, info) || !good_key(call, key)) return call.error();
  if (length >= MPI_MAX_INFO_VAL)
    return call.fail(MPI_ERR_INFO_VALUE, "argument 3 (value) has %zu characters; a value has at most %d",
                     length, MPI_MAX_INFO_VAL - 1);
  info_put(*info, key, value);
  return MPI_SUCCESS;
}

int info_delete(Call& call, Info* info, const char* key) {
  if (!writable(call, info) || !good_key(call, key)) return call.error();
  if (info_remove(*info, key)) return MPI_SUCCESS;
  return call.fail(MPI_ERR_INFO_NOKEY, "argument 2 (key): the info object has no key \"%s\"", key);
}

int info_get(Call& call, Info* info, const char* key, int valuelen, char* value, int* flag) {
  if (!good_key(call, key)) return call.error();
  if (valuelen < 0)
    return call.fail(MPI_ERR_ARG, "argument 3 (valuelen) is %d; it must not be negative", valuelen);
  const std::string* found = info_value(*info, key);
  if (found != nullptr && value == nullptr)
    return call.fail(MPI_ERR_INFO_VALUE,
                     "argument 4 (value) is a null pointer; give a buffer of valuelen + 1");
  if (found != nullptr) give_value(*found, static_cast<std::size_t>(valuelen), value);
  *flag = found != nullptr;
  return MPI_SUCCESS;
}

int info_get_string(Call& call, Info* info, const char* key, int* buflen, char* value, int* flag) {
  if (!good_key(call, key)) return call.error();
  if (*buflen < 0)
    return call.fail(MPI_ERR_ARG, "argument 3 (buflen) is %d; it must not be negative", *buflen);
  const std::string* found = info_value(*info, key);
  *flag = found != nullptr;
  if (found == nullptr) return MPI_SUCCESS;
  if (*buflen > 0 && value == nullptr)
    return call.fail(MPI_ERR_ARG, "argument 4 (value) is a null pointer, but argument 3 (buflen) is %d",
                     *buflen);
  if (*buflen > 0) give_value(*found, static_cast<std::size_t>(*buflen) - 1, value);
  *buflen = static_cast<int>(found->size()) + 1;
  return MPI_SUCCESS;
}

int info_get_valuelen(Call& call, Info* info, const char* key, int* valuelen, int* flag) {
  if (!good_key(call, key)) return call.error();
  const std::string* found = info_value(*info, key);
  if (found != nullptr) *valuelen = static_cast<int>(found->size());
  *flag = found != nullptr;
  return MPI_SUCCESS;
}

int info_get_nkeys(Call&, Info* info, int* nkeys) {
  *nkeys = static_cast<int>(info->entries.size());
  return MPI_SUCCESS;
}

int info_get_nthkey(Call& call, Info* info, int n, char* key) {
  if (n < 0 || static_cast<std::size_t>(n) >= info->entries.size())
    return call.fail(MPI_ERR_ARG, "argument 2 (n) is %d; the info object has %zu keys, counted from 0", n,
                     info->entries.size());
  if (key == nullptr) return call.fail(MPI_ERR_ARG, "argument 3 (key) is a null pointer; give a buffer");
  give_value(info->entries[static_cast<std::size_t>(n)].first, MPI_MAX_INFO_KEY - 1, key);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
