// SPDX-License-Identifier: BSD-3-Clause
#include "boot/model_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/fd.hpp"
#include "base/replace_file.hpp"

namespace herald::boot {
namespace {

constexpr std::size_t kMostFiles = 64;

// At most `most` bytes; false: it cannot be read, or is longer.
bool read_all(const std::string& path, std::size_t most, std::string& out) {
  std::FILE* const file = open_file(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  out.clear();
  if (file == nullptr) return false;
  char part[4096];
  std::size_t count = 0;
  while (out.size() <= most && (count = std::fread(part, 1, sizeof part, file)) > 0) out.append(part, count);
  const bool good = std::ferror(file) == 0;
  (void)std::fclose(file);
  if (out.size() > most) errno = EFBIG;
  return good && out.size() <= most;
}

struct Found {
  std::string path;
  std::int64_t changed_ns = 0;
};

// Files of measured parameters, the newest first.
std::vector<Found> list_models(const std::string& folder) {
  std::vector<Found> found;
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) return found;
  while (const dirent* entry = ::readdir(open)) {
    const std::string name = entry->d_name;
    struct stat facts {};
    if (!name.ends_with(".model") || found.size() == kMostFiles) continue;
    if (::stat((folder + "/" + name).c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    found.push_back({folder + "/" + name, facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec});
  }
  ::closedir(open);
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.changed_ns != b.changed_ns ? a.changed_ns > b.changed_ns : a.path < b.path;
  });
  return found;
}

const char* value_of(const char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment)
    if (std::string_view(*environment).starts_with(name) && (*environment)[name.size()] == '=')
      return *environment + name.size() + 1;
  return nullptr;
}

}  // namespace

double link_mbit() {
  std::string routes, speed;
  if (!read_all("/proc/net/route", 1 << 16, routes)) return 0;
  std::string name;
  for (std::size_t at = routes.find('\n'); at != std::string::npos && at + 1 < routes.size();) {
    const std::size_t end = routes.find('\n', at + 1);
    const std::string line = routes.substr(at + 1, end - at - 1);
    if (name.empty() || line.find("\t00000000\t") != std::string::npos)
      name = line.substr(0, line.find('\t'));
    at = end;
  }
  if (name.empty() || !read_all("/sys/class/net/" + name + "/speed", 64, speed)) return 0;
  return std::max(0, std::atoi(speed.c_str()));
}

std::string model_folder(const char* const* environment) {
  const char* cache = value_of(environment, "XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/herald";
  const char* home = value_of(environment, "HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.cache/herald";
}

Place this_place() {
  utsname system{};
  if (::uname(&system) != 0) return {};
  return {system.nodename, system.release, link_mbit()};
}

bool read_model(const std::string& path, model::Measured& out, std::string& why) {
  std::string text;
  errno = 0;
  if (!read_all(path, model::kMostText, text)) {
    why = path + " cannot be read: " + std::strerror(errno);
    return false;
  }
  if (from_text(text, out, why)) return true;
  why = path + ": " + why;
  return false;
}

namespace {

bool find_model(const std::string& folder, const Place& place, model::Measured& out,
                std::vector<std::string>& warnings, std::string& path) {
  if (folder.empty()) return false;
  for (const Found& each : list_models(folder)) {
    model::Measured measured;
    std::string why;
    if (!read_model(each.path, measured, why)) {
      warnings.push_back(why + "; it is ignored. herald model measure writes it anew");
      continue;
    }
    if (std::find(measured.hosts.begin(), measured.hosts.end(), place.host) == measured.hosts.end()) continue;
    const bool same_link = std::abs(measured.link_mbit - place.link_mbit) < 0.5;
    if (measured.kernel == place.kernel && same_link) {
      out = std::move(measured);
      path = each.path;
      return true;
    }
    warnings.push_back(each.path + " was measured with " +
                       (same_link ? "kernel " + measured.kernel + ", and this is " + place.kernel
                                  : std::string("another link")) +
                       "; it is ignored. herald model measure writes it anew");
  }
  return false;
}

}  // namespace

bool find_model(const std::string& folder, const Place& place, model::Measured& out,
                std::vector<std::string>& warnings) {
  std::string path;
  return find_model(folder, place, out, warnings, path);
}

bool add_tried(const std::string& folder, const Place& place, const model::Parameters& parameters,
               const std::vector<model::Tried>& found, std::string& why) {
  model::Measured measured;
  std::vector<std::string> warnings;
  std::string path;
  if (!find_model(folder, place, measured, warnings, path) || !(measured.parameters == parameters))
    return true;
  for (const model::Tried& one : found) {
    std::erase_if(measured.tried, [&](const model::Tried& old) { return old.is_like(one); });
    measured.tried.push_back(one);
  }
  const std::size_t most = model::kMostTried;
  if (measured.tried.size() > most)
    measured.tried.erase(measured.tried.begin(), measured.tried.end() - static_cast<std::ptrdiff_t>(most));
  return replace_file(path, to_text(measured), why);
}

}  // namespace herald::boot
