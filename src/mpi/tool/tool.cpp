// SPDX-License-Identifier: BSD-3-Clause
// MPI_T: start and end, enumerations, categories.
#include "mpi/tool/tool.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/trace.hpp"
#include "calls.hpp"
#include "mpi/core/info.hpp"

namespace herald::mpi {
namespace {

int users = 0;

constexpr struct {
  const char* name;
  const char* text;
} kCategories[] = {
    {"herald_settings", "settings, by the environment or before MPI_Init"},
    {"herald_traffic", "messages and bytes that went through this process"},
    {"herald_objects", "MPI objects that exist in this process"},
    {"herald_events", "events of messages, collectives and the network"},
};
constexpr int kCategoryCount = 4;
constexpr int kSettings = 0, kEvents = 3;

// The indices of the variables of a category.
std::vector<int> cvars_of(int category) noexcept {
  std::vector<int> list;
  for (int i = 0; category == kSettings && i < cvar_count(); ++i) list.push_back(i);
  return list;
}
std::vector<int> pvars_of(int category) noexcept {
  std::vector<int> list;
  for (int i = 0; i < pvar_count(); ++i)
    if (static_cast<int>(pvar_group(i)) + 1 == category) list.push_back(i);
  return list;
}

std::vector<int> events_of(int category) noexcept {
  std::vector<int> list;
  for (int i = 0; category == kEvents && i < kTraceEvents; ++i) list.push_back(i);
  return list;
}

int give_list(const std::vector<int>& list, int length, int indices[]) noexcept {
  if (length < 0 || (length > 0 && indices == nullptr)) return MPI_T_ERR_INVALID;
  const std::size_t n = std::min(list.size(), static_cast<std::size_t>(length));
  std::copy_n(list.begin(), n, indices);
  return MPI_SUCCESS;
}

bool is_category(int index) noexcept { return index >= 0 && index < kCategoryCount; }

// Those of knobs come first, then those of events.
constexpr std::uintptr_t kFirstEnum = 4096;
struct Enum {
  std::string name;
  std::vector<std::string> items;  // empty: there is no such enumeration
};
Enum enum_of(MPI_T_enum type) noexcept {
  Enum found;
  std::uintptr_t index = reinterpret_cast<std::uintptr_t>(type) - kFirstEnum;
  if (index < knob_rows().size()) {
    const KnobRow& row = knob_rows()[index];
    int length = 0;
    for (int i = 0; const char* word = choice(row.choices, i, &length); ++i)
      found.items.emplace_back(word, static_cast<std::size_t>(length));
    found.name = std::string("herald_") + row.name;
  } else if (index -= knob_rows().size(); index < std::uintptr_t{kTraceEvents}) {
    const TraceRow& row = trace_row(static_cast<int>(index));
    for (int i = 0; i < row.elements(); ++i) found.items.emplace_back(row.element(i));
    found.name = std::string("herald_") + row.name;
  }
  return found;
}

}  // namespace

int tool_users() noexcept { return users; }

MPI_T_enum event_enum(int event) noexcept {
  if (trace_row(event).elements() == 0) return MPI_T_ENUM_NULL;
  return reinterpret_cast<MPI_T_enum>(kFirstEnum + knob_rows().size() + static_cast<std::size_t>(event));
}

void give_text(const char* text, char* out, int* length) noexcept {
  if (length == nullptr) return;
  const int whole = static_cast<int>(std::strlen(text)) + 1;
  if (out != nullptr && *length > 0) {
    const int n = std::min(whole, *length) - 1;
    std::memcpy(out, text, static_cast<std::size_t>(n));
    out[n] = '\0';
  }
  *length = whole;
}

const char* choice(const char* choices, int index, int* length) noexcept {
  for (const char* at = choices; *at != '\0'; --index) {
    const std::size_t n = std::strcspn(at, "|");
    if (index == 0) {
      *length = static_cast<int>(n);
      return at;
    }
    at += n + (at[n] == '|' ? 1 : 0);
  }
  return nullptr;
}

int choice_count(const char* choices) noexcept {
  int count = 0, length = 0;
  while (choice(choices, count, &length) != nullptr) ++count;
  return count;
}

namespace api {

int t_init_thread(Call&, int required, int* provided) {
  if (*thread_level_name(required) == '\0') return MPI_T_ERR_INVALID;
  ++users;
  const bool shared = mode_now.load(std::memory_order_acquire) != Mode::one;
  give(required == MPI_THREAD_MULTIPLE && !shared ? MPI_THREAD_SERIALIZED : required, provided);
  return MPI_SUCCESS;
}

int t_finalize(Call&) {
  if (--users == 0) {
    forget_cvar_handles();
    forget_pvar_sessions();
    forget_events();
  }
  return MPI_SUCCESS;
}

int t_enum_get_info(Call&, MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  const Enum found = enum_of(enumtype);
  if (found.items.empty()) return MPI_T_ERR_INVALID_HANDLE;
  give(static_cast<int>(found.items.size()), num);
  give_text(found.name.c_str(), name, name_len);
  return MPI_SUCCESS;
}

int t_enum_get_item(Call&, MPI_T_enum enumtype, int index, int* value, char* name, int* name_len) {
  const Enum found = enum_of(enumtype);
  if (found.items.empty()) return MPI_T_ERR_INVALID_HANDLE;
  if (index < 0 || index >= static_cast<int>(found.items.size())) return MPI_T_ERR_INVALID_ITEM;
  give(index, value);
  give_text(found.items[static_cast<std::size_t>(index)].c_str(), name, name_len);
  return MPI_SUCCESS;
}

int t_category_get_num(Call&, int* num_cat) { return give_number(kCategoryCount, num_cat); }

int t_category_get_info(Call&, int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                        int* num_cvars, int* num_pvars, int* num_categories) {
  if (!is_category(cat_index)) return MPI_T_ERR_INVALID_INDEX;
  give_text(kCategories[cat_index].name, name, name_len);
  give_text(kCategories[cat_index].text, desc, desc_len);
  give(static_cast<int>(cvars_of(cat_index).size()), num_cvars);
  give(static_cast<int>(pvars_of(cat_index).size()), num_pvars);
  give(0, num_categories);
  return MPI_SUCCESS;
}

int t_category_get_index(Call&, const char* name, int* cat_index) {
  if (name == nullptr || cat_index == nullptr) return MPI_T_ERR_INVALID;
  for (int i = 0; i < kCategoryCount; ++i) {
    if (std::strcmp(name, kCategories[i].name) != 0) continue;
    *cat_index = i;
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_category_get_cvars(Call&, int cat_index, int len, int indices[]) {
  return is_category(cat_index) ? give_list(cvars_of(cat_index), len, indices) : MPI_T_ERR_INVALID_INDEX;
}

int t_category_get_pvars(Call&, int cat_index, int len, int indices[]) {
  return is_category(cat_index) ? give_list(pvars_of(cat_index), len, indices) : MPI_T_ERR_INVALID_INDEX;
}

int t_category_get_categories(Call&, int cat_index, int len, int indices[]) {
  return is_category(cat_index) ? give_list({}, len, indices) : MPI_T_ERR_INVALID_INDEX;
}

int t_category_get_events(Call&, int cat_index, int len, int indices[]) {
  return is_category(cat_index) ? give_list(events_of(cat_index), len, indices) : MPI_T_ERR_INVALID_INDEX;
}

int t_category_get_num_events(Call&, int cat_index, int* num_events) {
  return is_category(cat_index) ? give_number(static_cast<int>(events_of(cat_index).size()), num_events)
                                : MPI_T_ERR_INVALID_INDEX;
}

// Categories never change.
int t_category_changed(Call&, int* update_number) { return give_number(0, update_number); }

}  // namespace api
}  // namespace herald::mpi
