// SPDX-License-Identifier: BSD-3-Clause
// MPI_T control variables: every knob as herald_<name>. They can be set until boot and engine are open; after
// that they are frozen. Numbers are MPI_INT (MPI_COUNT if their range needs it), text with choices is an
// enumeration, other text an array of MPI_CHAR.
#include <algorithm>
#include <climits>
#include <cstring>

#include "calls.hpp"
#include "mpi/tool/tool.hpp"

namespace herald::mpi {
namespace {

constexpr int kTextRoom = 1024;
constexpr const char* kPrefix = "herald_";

struct CvarHandle : ObjectOf<MPI_T_cvar_handle> {
  int index = 0;
};

HandleTable<CvarHandle>& cvar_handles() noexcept {
  static auto& table = *new HandleTable<CvarHandle>;
  return table;
}

CvarHandle* find(MPI_T_cvar_handle handle) noexcept {
  return cvar_handles().find(reinterpret_cast<std::uintptr_t>(handle));
}

enum class Shape : std::uint8_t { small, large, choice, text };

Shape shape_of(const KnobRow& row) noexcept {
  if (row.is_text) return choice_count(row.choices) > 0 ? Shape::choice : Shape::text;
  return row.smallest >= INT_MIN && row.largest <= INT_MAX ? Shape::small : Shape::large;
}

const KnobRow* row_at(int index) noexcept {
  return index >= 0 && index < cvar_count() ? &knob_rows()[static_cast<std::size_t>(index)] : nullptr;
}

int choice_index(const KnobRow& row, const std::string& value) noexcept {
  int length = 0;
  for (int i = 0; const char* word = choice(row.choices, i, &length); ++i)
    if (value.compare(0, std::string::npos, word, static_cast<std::size_t>(length)) == 0) return i;
  return -1;
}

// The new value as text, in the form of an environment variable. False if it cannot be a value.
bool as_text(const KnobRow& row, const void* buffer, std::string& text) noexcept {
  switch (shape_of(row)) {
    case Shape::small: text = std::to_string(*static_cast<const int*>(buffer)); return true;
    case Shape::large: text = std::to_string(*static_cast<const MPI_Count*>(buffer)); return true;
    case Shape::text:
      text.assign(static_cast<const char*>(buffer), ::strnlen(static_cast<const char*>(buffer), kTextRoom));
      return text.size() < kTextRoom;
    case Shape::choice: break;
  }
  int length = 0;
  const int wanted = *static_cast<const int*>(buffer);
  const char* word = wanted < 0 ? nullptr : choice(row.choices, wanted, &length);
  if (word != nullptr) text.assign(word, static_cast<std::size_t>(length));
  return word != nullptr;
}

}  // namespace

int cvar_count() noexcept { return static_cast<int>(knob_rows().size()); }

void forget_cvar_handles() noexcept {
  cvar_handles().each([](CvarHandle& handle) { cvar_handles().destroy(&handle); });
}

namespace api {

int t_cvar_get_num(Call&, int* num_cvar) { return give_number(cvar_count(), num_cvar); }

int t_cvar_get_info(Call&, int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                    MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) {
  const KnobRow* row = row_at(cvar_index);
  if (row == nullptr) return MPI_T_ERR_INVALID_INDEX;
  const Shape shape = shape_of(*row);
  std::string text = row->help;
  if (!row->is_text) text += std::string(" (") + row->unit + ")";
  give_text((std::string(kPrefix) + row->name).c_str(), name, name_len);
  give_text(text.c_str(), desc, desc_len);
  give(row->is_text ? MPI_T_VERBOSITY_USER_BASIC : MPI_T_VERBOSITY_TUNER_BASIC, verbosity);
  give(shape == Shape::text ? MPI_CHAR : shape == Shape::large ? MPI_COUNT : MPI_INT, datatype);
  const auto enum_number = std::uintptr_t{4096} + static_cast<std::uintptr_t>(cvar_index);
  give(shape == Shape::choice ? reinterpret_cast<MPI_T_enum>(enum_number) : MPI_T_ENUM_NULL, enumtype);
  give(MPI_T_BIND_NO_OBJECT, bind);
  const int writable = row->scope == KnobScope::job ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL;
  give(runtime().has_engine() ? MPI_T_SCOPE_READONLY : writable, scope);
  return MPI_SUCCESS;
}

int t_cvar_get_index(Call&, const char* name, int* cvar_index) {
  if (name == nullptr || cvar_index == nullptr) return MPI_T_ERR_INVALID;
  const std::size_t prefix = std::strlen(kPrefix);
  for (int i = 0; std::strncmp(name, kPrefix, prefix) == 0 && i < cvar_count(); ++i) {
    if (std::strcmp(name + prefix, row_at(i)->name) != 0) continue;
    *cvar_index = i;
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_cvar_handle_alloc(Call&, int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) {
  const KnobRow* row = row_at(cvar_index);
  if (row == nullptr) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  CvarHandle* made = cvar_handles().create();
  made->index = cvar_index;
  *handle = handle_of(made);
  *count = shape_of(*row) == Shape::text ? kTextRoom : 1;
  return MPI_SUCCESS;
}

int t_cvar_handle_free(Call&, MPI_T_cvar_handle* handle) {
  if (handle == nullptr) return MPI_T_ERR_INVALID;
  CvarHandle* object = find(*handle);
  if (object == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  cvar_handles().destroy(object);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_cvar_read(Call&, MPI_T_cvar_handle handle, void* buf) {
  const CvarHandle* object = find(handle);
  if (object == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  const KnobRow& row = *row_at(object->index);
  const auto index = static_cast<std::size_t>(object->index);
  const Knobs& knobs = runtime().knobs();
  switch (shape_of(row)) {
    case Shape::small: *static_cast<int*>(buf) = static_cast<int>(knob_int(knobs, index)); break;
    case Shape::large: *static_cast<MPI_Count*>(buf) = knob_int(knobs, index); break;
    case Shape::choice: *static_cast<int*>(buf) = choice_index(row, knob_text(knobs, index)); break;
    case Shape::text: {
      const std::string& text = knob_text(knobs, index);
      const std::size_t length = std::min<std::size_t>(text.size(), kTextRoom - 1);
      std::memcpy(buf, text.data(), length);
      static_cast<char*>(buf)[length] = '\0';
      break;
    }
  }
  return MPI_SUCCESS;
}

int t_cvar_write(Call&, MPI_T_cvar_handle handle, const void* buf) {
  const CvarHandle* object = find(handle);
  if (object == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  if (runtime().has_engine()) return MPI_T_ERR_CVAR_SET_NOT_NOW;
  std::string text;
  if (!as_text(*row_at(object->index), buf, text)) return MPI_T_ERR_INVALID;
  const std::string wrong = runtime().set_knob(static_cast<std::size_t>(object->index), text);
  return wrong.empty() ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

}  // namespace api
}  // namespace herald::mpi
