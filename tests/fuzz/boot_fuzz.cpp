// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a launcher's answer, host map or peer list, or a peer's value, crashes the process
// that reads it, runs for ever, or yields ranks that are not in the job.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "boot/environment.hpp"
#include "boot/local_peers.hpp"
#include "boot/pmi1_text.hpp"

namespace boot = herald::boot;

static void check_ranks(const std::vector<int>& ranks, int rank, int size) {
  bool here = ranks.empty();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= size || (i > 0 && ranks[i] <= ranks[i - 1])) std::abort();
    here |= ranks[i] == rank;
  }
  if (!here) std::abort();
}

// Two bytes of rank and size, then text. As pieces, the text is cut at each space.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t count) {
  if (count < 2) return 0;
  const int rank = data[0];
  const int size = data[1];
  const std::string_view text{reinterpret_cast<const char*>(data) + 2, count - 2};

  check_ranks(boot::ranks_on_my_host(text, rank, size), rank, size);
  check_ranks(boot::parse_local_peers(text, rank, size), rank, size);
  if (auto value = boot::field(text, "value"); value && value->size() > text.size()) std::abort();
  if (auto number = boot::parse_int(text, 3, 300); number && (*number < 3 || *number > 300)) std::abort();
  if (boot::in_quotes(text).find('\n') != std::string::npos) std::abort();

  boot::PieceJoiner joiner;
  std::string_view rest = text;
  while (true) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (joiner.add(rest.substr(0, end)) != boot::PieceJoiner::State::more || end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }

  boot::PieceJoiner again;
  auto state = boot::PieceJoiner::State::more;
  for (const std::string& piece : boot::cut_value(text, boot::kShortestPiece)) state = again.add(piece);
  if (state != boot::PieceJoiner::State::complete || again.value() != text) std::abort();
  return 0;
}
