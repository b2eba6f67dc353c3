// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/core/hardware.hpp"

#include <fcntl.h>

#include <dirent.h>
#include <sched.h>
#include <strings.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "calls.hpp"
#include "mpi/core/info.hpp"

namespace herald::mpi {
namespace {

constexpr int kPackage = 0, kNumaNode = 1, kCore = 2, kThread = 3;

std::vector<int> allowed_processors() noexcept {
  std::vector<int> list;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return list;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mask)) list.push_back(i);
  return list;
}

int read_number(const std::string& path) noexcept {
  std::FILE* file = open_file(path.c_str(), O_RDONLY);
  int value = -1;
  if (file == nullptr) return -1;
  if (std::fscanf(file, "%d", &value) != 1) value = -1;
  (void)std::fclose(file);
  return value;
}

std::string processor_file(int processor, const char* name) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/" + name;
}

// The node is an entry node<N> in the processor's folder.
int numa_node(int processor) noexcept {
  ::DIR* folder = ::opendir(processor_file(processor, "").c_str());
  if (folder == nullptr) return -1;
  int node = -1;
  for (const dirent* entry = ::readdir(folder); entry != nullptr && node < 0; entry = ::readdir(folder))
    if (std::sscanf(entry->d_name, "node%d", &node) != 1) node = -1;
  (void)::closedir(folder);
  return node;
}

int instance(int kind, int processor) noexcept {
  switch (kind) {
    case kPackage: return read_number(processor_file(processor, "topology/physical_package_id"));
    case kNumaNode: return numa_node(processor);
    // The first processor of a core names it: core_id repeats in every package.
    case kCore: return read_number(processor_file(processor, "topology/thread_siblings_list"));
    default: return processor;
  }
}

}  // namespace

HardwarePlace hardware_place() noexcept {
  HardwarePlace place;
  const std::vector<int> processors = allowed_processors();
  for (int kind = 0; kind < kHardwareCount && !processors.empty(); ++kind) {
    int id = instance(kind, processors[0]);
    for (std::size_t i = 1; i < processors.size() && id >= 0; ++i)
      if (instance(kind, processors[i]) != id) id = -1;
    place.id[kind] = id;
  }
  return place;
}

int hardware_kind(const char* name) noexcept {
  if (std::strncmp(name, "hwloc://", 8) == 0) {
    name += 8;
    if (::strcasecmp(name, "PU") == 0) return kThread;
  }
  for (int i = 0; i < kHardwareCount; ++i)
    if (::strcasecmp(name, kHardwareKinds[i]) == 0) return i;
  return -1;
}

int api::get_hw_resource_info(Call&, MPI_Info* hw_info) {
  Info* info = new_info();
  const HardwarePlace place = hardware_place();
  for (int i = 0; i < kHardwareCount; ++i)
    info_put(*info, kHardwareKinds[i], place.id[i] >= 0 ? "true" : "false");
  info_put(*info, "mpi_shared_memory", "true");
  *hw_info = handle_of(info);
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
