// SPDX-License-Identifier: BSD-3-Clause
#include "hwloc_reader.hpp"

#if __has_include(<hwloc.h>)
#include <dlfcn.h>
#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace herald::launch {
namespace {

// Functions of hwloc 2 by name: mpiexec is not linked with it.
struct Library {
  decltype(&hwloc_get_api_version) version = nullptr;
  decltype(&hwloc_topology_init) init = nullptr;
  decltype(&hwloc_topology_load) load = nullptr;
  decltype(&hwloc_topology_destroy) destroy = nullptr;
  decltype(&hwloc_get_type_depth) depth = nullptr;
  decltype(&hwloc_get_nbobjs_by_depth) count = nullptr;
  decltype(&hwloc_get_obj_by_depth) object = nullptr;
  decltype(&hwloc_bitmap_isset) has = nullptr;

  bool open() {
    void* const handle = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    const auto find = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    return handle != nullptr && find(version, "hwloc_get_api_version") && find(init, "hwloc_topology_init") &&
           find(load, "hwloc_topology_load") && find(destroy, "hwloc_topology_destroy") &&
           find(depth, "hwloc_get_type_depth") && find(count, "hwloc_get_nbobjs_by_depth") &&
           find(object, "hwloc_get_obj_by_depth") && find(has, "hwloc_bitmap_isset") &&
           version() >> 16 == HWLOC_API_VERSION >> 16;
  }
};

// The number of the object of this type that the processor belongs to; -1: there is none.
int number_of(const Library& hwloc, hwloc_topology_t machine, hwloc_obj_type_t type, int cpu) {
  const int depth = hwloc.depth(machine, type);
  if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return -1;
  for (unsigned i = 0; i < hwloc.count(machine, depth); ++i)
    if (hwloc.has(hwloc.object(machine, depth, i)->cpuset, static_cast<unsigned>(cpu)) != 0)
      return static_cast<int>(i);
  return -1;
}

}  // namespace

std::vector<Processor> read_hwloc(const std::vector<int>& allowed) {
  static Library hwloc;
  static const bool open = hwloc.open();
  hwloc_topology_t machine = nullptr;
  if (!open || hwloc.init(&machine) != 0) return {};
  const std::unique_ptr<hwloc_topology, decltype(hwloc.destroy)> end(machine, hwloc.destroy);
  if (hwloc.load(machine) != 0) return {};
  std::vector<Processor> out;
  for (const int cpu : allowed) {
    const auto number = [&](hwloc_obj_type_t type) { return number_of(hwloc, machine, type, cpu); };
    if (number(HWLOC_OBJ_PU) < 0) return {};
    Processor each;
    each.cpu = cpu;
    each.core = number(HWLOC_OBJ_CORE);
    if (each.core < 0) each.core = cpu;
    each.socket = std::max(number(HWLOC_OBJ_PACKAGE), 0);
    each.l3 = number(HWLOC_OBJ_L3CACHE);
    if (each.l3 < 0) each.l3 = each.socket;
    each.numa = std::max(number(HWLOC_OBJ_NUMANODE), 0);
    out.push_back(each);
  }
  return out;
}

}  // namespace herald::launch
#else
namespace herald::launch {

std::vector<Processor> read_hwloc(const std::vector<int>&) { return {}; }

}  // namespace herald::launch
#endif
