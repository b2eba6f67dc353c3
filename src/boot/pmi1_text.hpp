// SPDX-License-Identifier: BSD-3-Clause
// boot/pmi1_text.hpp: the texts of the PMI-1 protocol: commands, values in hex cut to length, host map.
// Nothing here touches a socket; everything judges what a launcher or a peer sent.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace herald::boot {

// The value of `name` in "cmd=x name=value ...": up to the next space. Empty optional if it is not there.
std::optional<std::string_view> field(std::string_view line, std::string_view name) noexcept;

// A key that PMI-1 can carry: not empty, printable, no space, '=' nor ';'.
bool is_plain_key(std::string_view key) noexcept;

// A value of any bytes becomes pieces of at most `longest` characters: the first opens with the number of
// bytes of the whole and a dot, so that the reader knows when it has them all ("5.68656c", "6c6f").
// `longest` is at least kShortestPiece.
inline constexpr std::size_t kShortestPiece = 32;
std::vector<std::string> cut_value(std::string_view value, std::size_t longest);

// Puts pieces together again.
class PieceJoiner {
 public:
  enum class State { more, complete, broken };
  State add(std::string_view piece);  // pieces in order, until it says complete or broken
  std::string& value() noexcept { return value_; }

 private:
  bool started_ = false;
  std::size_t total_ = 0;
  std::string value_;
};

// The ranks on the host of `rank` by a PMI_process_mapping such as "(vector,(0,4,2))": blocks of
// (first host, hosts, ranks a host), repeated until all `size` ranks have a place. Ascending. Empty if the
// text is not such a map.
std::vector<int> ranks_on_my_host(std::string_view mapping, int rank, int size);

}  // namespace herald::boot
