// SPDX-License-Identifier: BSD-3-Clause
// tools/cast/items.cpp: lists what is to be copied, and converts the list to text for the other hosts.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cast.hpp"

namespace herald::cast {
namespace {

namespace fs = std::filesystem;

bool add_item(const std::string& path, const std::string& name, std::vector<Item>& items, std::string& why) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) {
    why = path + ": " + std::strerror(errno);
    return false;
  }
  Item item;
  item.name = name;
  item.mode = about.st_mode & 07777;
  item.changed_ns = about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec;
  if (S_ISDIR(about.st_mode)) {
    item.kind = Item::folder;
  } else if (S_ISREG(about.st_mode)) {
    item.kind = Item::file;
    item.bytes = static_cast<std::uint64_t>(about.st_size);
  } else if (S_ISLNK(about.st_mode)) {
    item.kind = Item::link;
    std::error_code error;
    item.target = fs::read_symlink(path, error).string();
  } else {
    why = path + ": skipped: neither a file nor a folder nor a link";
    return true;
  }
  items.push_back(item);
  return true;
}

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_text(std::string& out, const std::string& text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}
template <class T>
T take(const std::string& in, std::size_t& at) {
  T value{};
  if (at + sizeof value <= in.size()) std::memcpy(&value, in.data() + at, sizeof value);
  at += sizeof value;
  return value;
}
std::string take_text(const std::string& in, std::size_t& at) {
  const auto length = take<std::uint32_t>(in, at);
  if (at > in.size() || length > in.size() - at) return {};
  at += length;
  return in.substr(at - length, length);
}

}  // namespace

bool list_items(const std::string& source, std::vector<Item>& items, std::string& why) {
  struct stat about {};
  if (::stat(source.c_str(), &about) != 0) {  // follows a link
    why = source + ": " + std::strerror(errno);
    return false;
  }
  std::error_code error;
  const std::string root = fs::canonical(source, error).string();
  if (!add_item(root, "", items, why)) return false;
  if (!S_ISDIR(about.st_mode)) return true;
  for (fs::recursive_directory_iterator it(root, error), end; it != end && !error; it.increment(error))
    if (!add_item(it->path().string(), it->path().lexically_relative(root).string(), items, why))
      return false;
  if (error) why = source + ": " + error.message();
  return !error;
}

std::string pack_items(const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) {
    put(out, item.kind);
    put(out, item.mode);
    put(out, item.bytes);
    put(out, item.changed_ns);
    put_text(out, item.name);
    put_text(out, item.target);
  }
  return out;
}

std::vector<Item> unpack_items(const std::string& text) {
  std::vector<Item> items;
  for (std::size_t at = 0; at < text.size();) {
    Item item;
    item.kind = take<Item::Kind>(text, at);
    item.mode = take<std::uint32_t>(text, at);
    item.bytes = take<std::uint64_t>(text, at);
    item.changed_ns = take<std::int64_t>(text, at);
    item.name = take_text(text, at);
    item.target = take_text(text, at);
    items.push_back(item);
  }
  return items;
}

std::string destination_of(const std::string& path, const std::string& source, bool is_folder) {
  std::error_code error;
  const bool below = path.ends_with('/') || (!is_folder && fs::is_directory(path, error));
  if (!below) return path;
  std::string name = fs::path(source).lexically_normal().filename().string();
  if (name.empty()) name = fs::path(source).lexically_normal().parent_path().filename().string();
  return (fs::path(path) / name).string();
}

}  // namespace herald::cast
