// SPDX-License-Identifier: BSD-3-Clause
// boot/pmi1_text.hpp: the text of the PMI-1 protocol: commands, values as pieces of hex, host map. Pure
// functions; the input comes from a launcher or a peer and is not trusted.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"

namespace herald::boot {

// The value of `name` in "cmd=x name=value ...": up to the next space. Empty if it is absent.
std::optional<std::string_view> field(std::string_view line, std::string_view name) noexcept;

// A key that PMI-1 can carry: not empty, printable, no space, '=' nor ';'.
bool is_plain_key(std::string_view key) noexcept;

// Splits a value of any bytes into pieces of at most `longest` characters. The first piece begins with the
// length of the value and a dot, so that the reader knows when it is complete ("5.68656c", "6c6f").
// `longest` is at least kShortestPiece.
inline constexpr std::size_t kShortestPiece = 32;
std::vector<std::string> cut_value(std::string_view value, std::size_t longest);

// Reassembles the pieces.
class PieceJoiner {
 public:
  enum class State { more, complete, broken };
  State add(std::string_view piece);  // pieces in order, until complete or broken
  std::string& value() noexcept { return value_; }

 private:
  bool started_ = false;
  std::size_t total_ = 0;
  std::string value_;
};

// The ranks on the host of `rank` by a PMI_process_mapping such as "(vector,(0,4,2))": blocks of
// (first host, hosts, ranks per host), repeated until all `size` ranks have a host. Ascending. Empty if the
// text is malformed.
std::vector<int> ranks_on_my_host(std::string_view mapping, int rank, int size);

// Ascending ranks as ranges with strides: "0-3,8-40:8,50".
std::string rank_ranges(std::span<const int> ranks);

// The key of the store in which the processes of a spawned job find the port of their parent.
constexpr const char* kParentKey = "PARENT_ROOT_PORT_NAME";
// The lines of mcmd=spawn for command `number` (from 1) of `count`, without the last newline.
std::string spawn_text(const SpawnApp& app, std::size_t number, std::size_t count, std::string_view port);

}  // namespace herald::boot
