// SPDX-License-Identifier: BSD-3-Clause
// MPI_T events: the events of base/trace.def, from one source, which timelines (HERALD_TRACE) use too.
//
// An event occurs deep in the library, with the engine's lock. A callback that is registered as thread-safe
// runs there. Others run when the call of the program ends, and may call MPI; at most kQueued events wait.
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/trace.hpp"
#include "calls.hpp"
#include "engine/clock.hpp"
#include "mpi/core/info.hpp"
#include "mpi/tool/tool.hpp"

namespace herald::mpi {
namespace {

constexpr std::size_t kQueued = 1024;
constexpr std::size_t kLevels = 4;
constexpr std::array<MPI_T_cb_safety, kLevels> kSafety = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
constexpr std::size_t kThreadSafe = 2;

struct Callback {
  MPI_T_event_cb_function* function = nullptr;
  void* data = nullptr;
};

struct Registration : ObjectOf<MPI_T_event_registration> {
  TraceEvent event{};
  std::array<Callback, kLevels> callbacks;
  MPI_T_event_dropped_cb_function* on_dropped = nullptr;
  MPI_Count dropped = 0;  // since the last event that was delivered

  // The callback that runs where the event occurs, or the one that runs later; null: none.
  const Callback* at_once() const noexcept { return first(kThreadSafe, kLevels); }
  const Callback* later() const noexcept { return at_once() != nullptr ? nullptr : first(0, kThreadSafe); }

 private:
  const Callback* first(std::size_t from, std::size_t end) const noexcept {
    for (; from < end; ++from)
      if (callbacks[from].function != nullptr) return &callbacks[from];
    return nullptr;
  }
};

HandleTable<Registration>& registrations() noexcept {
  static auto& table = *new HandleTable<Registration>;
  return table;
}
Registration* find_registration(MPI_T_event_registration handle) noexcept {
  return registrations().find(reinterpret_cast<std::uintptr_t>(handle));
}

std::deque<TraceSample>& queue() noexcept {
  static auto& waiting = *new std::deque<TraceSample>;
  return waiting;
}
bool delivering = false;

std::string event_name(int index) { return std::string("herald_") + trace_row(index).name; }
bool is_event(int index) noexcept { return index >= 0 && index < kTraceEvents; }
int level_of(MPI_T_cb_safety safety) noexcept {
  for (std::size_t i = 0; i < kLevels; ++i)
    if (kSafety[i] == safety) return static_cast<int>(i);
  return -1;
}
const TraceSample* sample_of(MPI_T_event_instance instance) noexcept {
  return reinterpret_cast<const TraceSample*>(instance);
}
std::int64_t element(const TraceSample& sample, int index) noexcept {
  return index == 0 ? sample.a : index == 1 ? sample.b : sample.c;
}

void call_back(Registration& registration, const Callback& callback, const TraceSample& sample,
               MPI_T_cb_safety safety) noexcept {
  const MPI_T_event_registration handle = handle_of(&registration);
  const MPI_Count dropped = std::exchange(registration.dropped, 0);
  if (dropped != 0 && registration.on_dropped != nullptr)
    registration.on_dropped(dropped, handle, 0, safety, callback.data);
  if (find_registration(handle) == nullptr) return;  // the callback freed it
  callback.function(reinterpret_cast<MPI_T_event_instance>(const_cast<TraceSample*>(&sample)), handle, safety,
                    callback.data);
}

// Of those for this event, as handles: a callback may make and free registrations.
std::vector<MPI_T_event_registration> registrations_of(TraceEvent event) noexcept {
  std::vector<MPI_T_event_registration> found;
  registrations().each([&](Registration& one) {
    if (one.event == event) found.push_back(handle_of(&one));
  });
  return found;
}

void on_event(const TraceSample& sample) noexcept {
  bool waits = false;
  for (const MPI_T_event_registration handle : registrations_of(sample.event)) {
    Registration* const registration = find_registration(handle);
    if (registration == nullptr) continue;
    const Callback* const callback = registration->at_once();
    waits |= registration->later() != nullptr;
    if (callback == nullptr || delivering) continue;
    delivering = true;
    call_back(*registration, *callback, sample, MPI_T_CB_REQUIRE_THREAD_SAFE);
    delivering = false;
  }
  if (!waits) return;
  if (queue().size() < kQueued) return queue().push_back(sample);
  for (const MPI_T_event_registration handle : registrations_of(sample.event))
    ++find_registration(handle)->dropped;
}

// At the end of a call of the program. Events that callbacks cause wait for the end of the next call.
void deliver() noexcept {
  if (delivering || queue().empty()) return;
  delivering = true;
  for (std::size_t left = queue().size(); left != 0 && !queue().empty(); --left) {
    const TraceSample sample = queue().front();
    queue().pop_front();
    for (const MPI_T_event_registration handle : registrations_of(sample.event)) {
      Registration* const registration = find_registration(handle);
      const Callback* const callback = registration == nullptr ? nullptr : registration->later();
      if (callback != nullptr) call_back(*registration, *callback, sample, MPI_T_CB_REQUIRE_NONE);
    }
  }
  delivering = false;
}

Instant event_clock() noexcept { return engine::read_clock(); }

// The trace reports the events that have a registration, no others.
void listen() noexcept {
  std::uint64_t wanted = 0;
  registrations().each([&](Registration& one) { wanted |= std::uint64_t{1} << static_cast<int>(one.event); });
  process_trace.listen(wanted, wanted == 0 ? nullptr : on_event, event_clock);
  runtime().observe(wanted == 0 ? nullptr : deliver);
}

int give_new_info(MPI_Info* info) noexcept {
  if (info != nullptr) *info = handle_of(new_info());
  return MPI_SUCCESS;
}

}  // namespace

void forget_events() noexcept {
  std::vector<Registration*> all;
  registrations().each([&](Registration& one) { all.push_back(&one); });
  for (Registration* one : all) registrations().destroy(one);
  queue().clear();
  listen();
}

namespace api {

int t_event_get_num(Call&, int* num_events) { return give_number(kTraceEvents, num_events); }

int t_event_get_index(Call&, const char* name, int* event_index) {
  if (name == nullptr || event_index == nullptr) return MPI_T_ERR_INVALID;
  for (int i = 0; i < kTraceEvents; ++i)
    if (event_name(i) == name) return *event_index = i, MPI_SUCCESS;
  return MPI_T_ERR_INVALID_NAME;
}

int t_event_get_info(Call&, int event_index, char* name, int* name_len, int* verbosity,
                     MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[], int* num_elements,
                     MPI_T_enum* enumtype, MPI_Info* info, char* desc, int* desc_len, int* bind) {
  if (!is_event(event_index)) return MPI_T_ERR_INVALID_INDEX;
  const TraceRow& row = trace_row(event_index);
  give_text(event_name(event_index).c_str(), name, name_len);
  give_text(row.text, desc, desc_len);
  give(row.is_point ? MPI_T_VERBOSITY_USER_BASIC : MPI_T_VERBOSITY_USER_DETAIL, verbosity);
  const int room = num_elements == nullptr ? 0 : *num_elements;
  for (int i = 0; i < row.elements() && i < room; ++i) {
    if (array_of_datatypes != nullptr) array_of_datatypes[i] = row.is_text(i) ? MPI_AINT : MPI_COUNT;
    if (array_of_displacements != nullptr) array_of_displacements[i] = i * MPI_Aint{sizeof(std::int64_t)};
  }
  give(row.elements(), num_elements);
  give(event_enum(event_index), enumtype);
  give(MPI_T_BIND_NO_OBJECT, bind);
  return give_new_info(info);
}

int t_event_handle_alloc(Call&, int event_index, void*, MPI_Info,
                         MPI_T_event_registration* event_registration) {
  if (!is_event(event_index)) return MPI_T_ERR_INVALID_INDEX;
  if (event_registration == nullptr) return MPI_T_ERR_INVALID;
  Registration* const made = registrations().create();
  made->event = static_cast<TraceEvent>(event_index);
  *event_registration = handle_of(made);
  listen();
  return MPI_SUCCESS;
}

int t_event_handle_free(Call&, MPI_T_event_registration event_registration, void* user_data,
                        MPI_T_event_free_cb_function* free_cb_function) {
  Registration* const registration = find_registration(event_registration);
  if (registration == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  registrations().destroy(registration);
  listen();
  if (free_cb_function != nullptr) free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
  return MPI_SUCCESS;
}

int t_event_register_callback(Call&, MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                              MPI_Info, void* user_data, MPI_T_event_cb_function* event_cb_function) {
  Registration* const registration = find_registration(event_registration);
  if (registration == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  const int level = level_of(cb_safety);
  if (level < 0) return MPI_T_ERR_INVALID;
  registration->callbacks[static_cast<std::size_t>(level)] = {event_cb_function, user_data};
  return MPI_SUCCESS;
}

int t_event_set_dropped_handler(Call&, MPI_T_event_registration event_registration,
                                MPI_T_event_dropped_cb_function* dropped_cb_function) {
  Registration* const registration = find_registration(event_registration);
  if (registration == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  registration->on_dropped = dropped_cb_function;
  return MPI_SUCCESS;
}

// There are no hints.
int t_event_handle_get_info(Call&, MPI_T_event_registration event_registration, MPI_Info* info_used) {
  if (find_registration(event_registration) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  return give_new_info(info_used);
}
int t_event_handle_set_info(Call&, MPI_T_event_registration event_registration, MPI_Info) {
  return find_registration(event_registration) == nullptr ? MPI_T_ERR_INVALID_HANDLE : MPI_SUCCESS;
}
int t_event_callback_get_info(Call&, MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                              MPI_Info* info_used) {
  if (find_registration(event_registration) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  return level_of(cb_safety) < 0 ? MPI_T_ERR_INVALID : give_new_info(info_used);
}
int t_event_callback_set_info(Call&, MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                              MPI_Info) {
  if (find_registration(event_registration) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  return level_of(cb_safety) < 0 ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

int t_event_read(Call&, MPI_T_event_instance event_instance, int element_index, void* buffer) {
  if (event_instance == nullptr || buffer == nullptr) return MPI_T_ERR_INVALID;
  const TraceSample& sample = *sample_of(event_instance);
  if (element_index < 0 || element_index >= trace_row(static_cast<int>(sample.event)).elements())
    return MPI_T_ERR_INVALID_INDEX;
  const std::int64_t value = element(sample, element_index);
  std::memcpy(buffer, &value, sizeof value);
  return MPI_SUCCESS;
}

int t_event_copy(Call&, MPI_T_event_instance event_instance, void* buffer) {
  if (event_instance == nullptr || buffer == nullptr) return MPI_T_ERR_INVALID;
  const TraceSample& sample = *sample_of(event_instance);
  const int elements = trace_row(static_cast<int>(sample.event)).elements();
  const std::array<std::int64_t, 3> values = {sample.a, sample.b, sample.c};
  std::memcpy(buffer, values.data(), static_cast<std::size_t>(elements) * sizeof(std::int64_t));
  return MPI_SUCCESS;
}

int t_event_get_timestamp(Call&, MPI_T_event_instance event_instance, MPI_Count* event_timestamp) {
  if (event_instance == nullptr || event_timestamp == nullptr) return MPI_T_ERR_INVALID;
  *event_timestamp = sample_of(event_instance)->at.ns;
  return MPI_SUCCESS;
}

int t_event_get_source(Call&, MPI_T_event_instance event_instance, int* source_index) {
  return event_instance == nullptr ? MPI_T_ERR_INVALID : give_number(0, source_index);
}

int t_source_get_num(Call&, int* num_sources) { return give_number(1, num_sources); }

int t_source_get_info(Call&, int source_index, char* name, int* name_len, char* desc, int* desc_len,
                      MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks,
                      MPI_Info* info) {
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  give_text("herald_trace", name, name_len);
  give_text("events of this process, as in its timeline", desc, desc_len);
  give(MPI_T_SOURCE_ORDERED, ordering);
  give(MPI_Count{1'000'000'000}, ticks_per_second);
  give(std::numeric_limits<MPI_Count>::max(), max_ticks);
  return give_new_info(info);
}

int t_source_get_timestamp(Call&, int source_index, MPI_Count* timestamp) {
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  if (timestamp == nullptr) return MPI_T_ERR_INVALID;
  *timestamp = event_clock().ns;
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
