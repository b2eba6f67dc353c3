// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer's card, or a HERALD_NET, crashes the process that reads it, yields ports or
// lengths out of range, or makes links that the two sides number differently. Two cards, with a newline
// between.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "path/udp/card.hpp"

using namespace herald::path::udp;

static bool read_checked(std::string_view text, NetCard& card) {
  std::string why;
  Prefix prefix;
  if (parse_prefix(text, prefix) && prefix.bits > prefix.address.bits()) std::abort();
  if (!read_card(text, card, why)) return false;
  NetCard again;
  // A card that was read can be written and read again unchanged.
  if (!read_card(write_card(card), again, why) || write_card(again) != write_card(card)) std::abort();
  for (const CardInterface& interface : card.interfaces)
    for (const CardAddress& each : interface.addresses)
      if (each.port == 0 || payload_bytes(interface.mtu, each.prefix.address.family) > 65527) std::abort();
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\n');
  NetCard a, b;
  if (!read_checked(text.substr(0, cut), a)) return 0;
  if (cut == std::string_view::npos || !read_checked(text.substr(cut + 1), b)) return 0;
  const auto here = pair_up(a, b, true);
  const auto there = pair_up(b, a, false);
  if (here.size() != there.size() || here.size() > kMostLinks) std::abort();
  for (std::size_t i = 0; i < here.size(); ++i)
    if (here[i].our_interface != there[i].their_interface ||
        here[i].their_interface != there[i].our_interface)
      std::abort();
  return 0;
}
