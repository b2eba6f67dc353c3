// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmi1_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace herald::boot {

namespace {

int nibble(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_hex(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

bool append_bytes(std::string& out, std::string_view hex) {
  if (hex.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    int high = nibble(hex[i]);
    int low = nibble(hex[i + 1]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high << 4 | low);
  }
  return true;
}

struct Block {
  int first_host, hosts, ranks_per_host;
};

// Reads `text` from its front, skipping spaces.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_{text} {}

  bool word(std::string_view expected) noexcept {
    skip_spaces();
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool number(int& value) noexcept {
    skip_spaces();
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value < 0) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }

  bool at_end() noexcept {
    skip_spaces();
    return rest_.empty();
  }

 private:
  void skip_spaces() noexcept {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

// Empty if the text is malformed, or if its blocks hold no rank.
std::vector<Block> parse_blocks(std::string_view mapping) {
  Scanner in{mapping};
  std::vector<Block> blocks;
  if (!in.word("(") || !in.word("vector")) return {};
  bool places_somebody = false;
  while (in.word(",")) {
    Block block{};
    if (!in.word("(") || !in.number(block.first_host) || !in.word(",") || !in.number(block.hosts) ||
        !in.word(",") || !in.number(block.ranks_per_host) || !in.word(")"))
      return {};
    places_somebody |= block.hosts > 0 && block.ranks_per_host > 0;
    blocks.push_back(block);
  }
  if (!in.word(")") || !in.at_end() || !places_somebody) return {};
  return blocks;
}

// Calls visit(host, first_rank, ranks) for each run of ranks on a host, in rank order, as long as it
// returns true.
template <class Visit>
void walk_hosts(const std::vector<Block>& blocks, int size, Visit visit) {
  int next = 0;
  for (;;) {
    for (const Block& block : blocks) {
      if (block.ranks_per_host == 0) continue;
      for (int i = 0; i < block.hosts; ++i) {
        int ranks = std::min(block.ranks_per_host, size - next);
        if (ranks == 0 || !visit(std::int64_t{block.first_host} + i, next, ranks)) return;
        next += ranks;
      }
    }
  }
}

}  // namespace

std::optional<std::string_view> field(std::string_view line, std::string_view name) noexcept {
  while (!line.empty()) {
    std::size_t end = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, end);
    if (word.size() > name.size() && word[name.size()] == '=' && word.substr(0, name.size()) == name)
      return word.substr(name.size() + 1);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return std::nullopt;
}

bool is_plain_key(std::string_view key) noexcept {
  auto plain = [](char c) { return c > ' ' && c <= '~' && c != '=' && c != ';'; };
  return !key.empty() && std::all_of(key.begin(), key.end(), plain);
}

std::vector<std::string> cut_value(std::string_view value, std::size_t longest) {
  std::vector<std::string> pieces;
  std::string piece = std::to_string(value.size()) + ".";
  do {
    std::size_t room = (longest - piece.size()) / 2;
    std::size_t count = std::min(room, value.size());
    append_hex(piece, value.substr(0, count));
    value.remove_prefix(count);
    pieces.push_back(std::move(piece));
    piece.clear();
  } while (!value.empty());
  return pieces;
}

PieceJoiner::State PieceJoiner::add(std::string_view piece) {
  if (!started_) {
    auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), total_);
    if (error != std::errc{} || end == piece.data() + piece.size() || *end != '.') return State::broken;
    piece.remove_prefix(static_cast<std::size_t>(end - piece.data()) + 1);
    started_ = true;
  } else if (piece.empty()) {
    return State::broken;  // would never end
  }
  if (!append_bytes(value_, piece) || value_.size() > total_) return State::broken;
  return value_.size() == total_ ? State::complete : State::more;
}

std::vector<int> ranks_on_my_host(std::string_view mapping, int rank, int size) {
  std::vector<int> found;
  const std::vector<Block> blocks = parse_blocks(mapping);
  if (blocks.empty() || rank < 0 || rank >= size) return found;
  std::int64_t mine = -1;
  walk_hosts(blocks, size, [&](std::int64_t host, int first, int ranks) {
    if (rank >= first && rank < first + ranks) mine = host;
    return mine < 0;
  });
  walk_hosts(blocks, size, [&](std::int64_t host, int first, int ranks) {
    for (int i = 0; host == mine && i < ranks; ++i) found.push_back(first + i);
    return true;
  });
  return found;
}

std::string rank_ranges(std::span<const int> ranks) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    const int stride = first + 1 < ranks.size() ? ranks[first + 1] - ranks[first] : 1;
    while (last + 1 < ranks.size() && ranks[last + 1] - ranks[last] == stride) ++last;
    if (last == first + 1 && stride > 1) last = first;  // two ranks are no row
    if (first > 0) text += ',';
    text += std::to_string(ranks[first]);
    if (last > first) text += '-' + std::to_string(ranks[last]);
    if (last > first && stride > 1) text += ':' + std::to_string(stride);
    first = last + 1;
  }
  return text;
}

namespace {

// Info values may hold several lines (env); the others stay as they are, because Hydra reads them.
std::string one_line(std::string value) {
  for (char& c : value)
    if (c == '\n') c = '\x1f';
  return value;
}

}  // namespace

std::string spawn_text(const SpawnApp& app, std::size_t number, std::size_t count, std::string_view port) {
  std::string text = "mcmd=spawn\nnprocs=" + std::to_string(app.count) + "\nexecname=" + app.command +
                     "\ntotspawns=" + std::to_string(count) + "\nspawnssofar=" + std::to_string(number) +
                     "\n";
  for (std::size_t i = 0; i < app.arguments.size(); ++i)
    text += "arg" + std::to_string(i + 1) + "=" + app.arguments[i] + "\n";
  text += "argcnt=" + std::to_string(app.arguments.size()) + "\npreput_num=1\npreput_key_0=" + kParentKey +
          "\npreput_val_0=" + std::string(port) + "\ninfo_num=" + std::to_string(app.info.size()) + "\n";
  for (std::size_t i = 0; i < app.info.size(); ++i)
    text += "info_key_" + std::to_string(i) + "=" + app.info[i].first + "\ninfo_val_" + std::to_string(i) +
            "=" + one_line(app.info[i].second) + "\n";
  return text + "endcmd";
}

}  // namespace herald::boot
