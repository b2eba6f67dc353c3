// SPDX-License-Identifier: BSD-3-Clause
#include "path/ports.hpp"

#include <charconv>

namespace herald::path {
namespace {

constexpr std::uint16_t kLeastPort = 1024;  // the ports below it are those of the system

bool read_port(std::string_view text, std::uint16_t& port) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= kLeastPort;
}

}  // namespace

bool read_ports(std::string_view text, Ports& ports) noexcept {
  Ports read;
  if (!text.empty()) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos || !read_port(text.substr(0, dash), read.first) ||
        !read_port(text.substr(dash + 1), read.last) || read.first >= read.last)
      return false;
  }
  ports = read;
  return true;
}

}  // namespace herald::path
