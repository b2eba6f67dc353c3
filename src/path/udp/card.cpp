// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/card.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace herald::path::udp {
namespace {

constexpr std::string_view kVersion = "udp1";
constexpr std::string_view kKinds = "psl";

template <class T>
bool read_number(std::string_view text, T smallest, T largest, T& value, int base = 10) {
  T read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read, base);
  if (error != std::errc{} || end != text.data() + text.size() || read < smallest || read > largest)
    return false;
  value = read;
  return true;
}

// Removes the text before `mark` from `rest` and returns it.
std::string_view take(std::string_view& rest, char mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

bool read_card_address(std::string_view text, CardAddress& address) {
  const std::size_t colon = text.rfind(':');
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || colon == std::string_view::npos || colon < slash) return false;
  return parse_prefix(text.substr(0, colon), address.prefix) &&
         read_number<std::uint16_t>(text.substr(colon + 1), 1, 65535, address.port);
}

bool read_card_interface(std::string_view text, CardInterface& interface) {
  const std::string_view name = take(text, ',');
  const std::string_view mtu = take(text, ',');
  const std::string_view mbit = take(text, ',');
  const std::string_view kind = take(text, ',');
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
  if (name.empty() || name.size() > 15 || !printable || kind.size() != 1 ||
      kKinds.find(kind[0]) == std::string_view::npos)
    return false;
  if (!read_number<std::uint32_t>(mtu, 576, 1 << 20, interface.mtu) ||
      !read_number<std::uint32_t>(mbit, 0, 100000000, interface.mbit))
    return false;
  interface.name = name;
  interface.kind = static_cast<InterfaceKind>(kKinds.find(kind[0]));
  while (!text.empty()) {
    CardAddress address;
    if (interface.addresses.size() == 2 || !read_card_address(take(text, ','), address)) return false;
    interface.addresses.push_back(address);
  }
  return !interface.addresses.empty();
}

bool has_address(const NetCard& card, const Address& address) {
  for (const CardInterface& interface : card.interfaces)
    for (const CardAddress& each : interface.addresses)
      if (each.prefix.address == address) return true;
  return false;
}

struct Candidate {
  Pair pair;
  int tier = 0;  // 0: the best
  std::uint32_t mbit = 0;
  int apart = 0;  // distance of the two interfaces in their lists: hosts are often cabled alike
  int first_side = 0, second_side = 0;  // indices on the first side, and on the other
};

// How good a pair of addresses is; -1: none.
int tier_of(const NetCard& ours, const NetCard& theirs, const CardInterface& our, const CardInterface& their,
            const Prefix& a, const Prefix& b) {
  if (a.address.family != b.address.family) return -1;
  if (ours.net == theirs.net) return a.address == b.address ? 0 : 1;
  if (our.kind == InterfaceKind::loopback || their.kind == InterfaceKind::loopback) return -1;
  // Container bridges have the same address on every host: a datagram to it would stay on this host.
  if (has_address(ours, b.address) || has_address(theirs, a.address)) return -1;
  if (a.address.is_link_local() != b.address.is_link_local()) return -1;
  const bool plain = our.kind == InterfaceKind::plain && their.kind == InterfaceKind::plain;
  if (a.address.is_link_local()) return plain ? 3 : 5;
  const bool together = a.contains(b.address) && b.contains(a.address);
  if (together) return plain ? 0 : 2;
  return plain ? 1 : 4;
}

// The better family for a pair of interfaces: matching subnets first, then IPv4 before IPv6.
void add_candidate(const NetCard& ours, const NetCard& theirs, std::size_t i, std::size_t j,
                   bool we_are_first, std::vector<Candidate>& candidates) {
  const CardInterface& our = ours.interfaces[i];
  const CardInterface& their = theirs.interfaces[j];
  Candidate best;
  best.tier = -1;
  std::uint8_t best_family = 0;
  for (std::size_t a = 0; a < our.addresses.size(); ++a)
    for (std::size_t b = 0; b < their.addresses.size(); ++b) {
      const Prefix& mine = our.addresses[a].prefix;
      const int tier = tier_of(ours, theirs, our, their, mine, their.addresses[b].prefix);
      const std::uint8_t family = mine.address.family;
      if (tier < 0 || (best.tier >= 0 && std::tie(best.tier, best_family) <= std::tie(tier, family)))
        continue;
      best_family = family;
      best.tier = tier;
      best.pair = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(j),
                   static_cast<std::uint8_t>(b), tier == 1 && ours.net != theirs.net};
    }
  if (best.tier < 0) return;
  best.mbit = std::min(our.mbit, their.mbit);
  best.apart = static_cast<int>(i > j ? i - j : j - i);
  best.first_side = static_cast<int>(we_are_first ? i : j);
  best.second_side = static_cast<int>(we_are_first ? j : i);
  candidates.push_back(best);
}

}  // namespace

std::uint32_t fastest_mbit(const NetCard& card) noexcept {
  std::uint32_t mbit = 0;
  for (const CardInterface& each : card.interfaces) mbit = std::max(mbit, each.mbit);
  return mbit;
}

std::string write_card(const NetCard& card) {
  char net[17];
  const auto end = std::to_chars(net, net + sizeof net, card.net, 16).ptr;
  std::string text = std::string(kVersion) + " " + std::string(net, end);
  for (const CardInterface& interface : card.interfaces) {
    std::string name = interface.name.substr(0, 15);
    for (char& c : name)
      if (c <= ' ' || c >= 127 || c == ',') c = '_';
    text += " " + name + "," + std::to_string(interface.mtu) + "," + std::to_string(interface.mbit) + "," +
            kKinds[static_cast<std::size_t>(interface.kind)];
    for (const CardAddress& each : interface.addresses)
      text += "," + to_text(each.prefix.address) + "/" + std::to_string(each.prefix.bits) + ":" +
              std::to_string(each.port);
  }
  return text;
}

bool read_card(std::string_view text, NetCard& card, std::string& why) {
  const auto refuse = [&](const std::string& reason) {
    why = "the card of its sockets cannot be read: " + reason;
    return false;
  };
  if (text.size() > kMostCardBytes) return refuse("it is " + std::to_string(text.size()) + " bytes long");
  std::string_view rest = text;
  if (take(rest, ' ') != kVersion)
    return refuse("it is not of version " + std::string(kVersion) + "; all ranks must run the same Herald");
  NetCard read;
  if (!read_number<std::uint64_t>(take(rest, ' '), 0, ~std::uint64_t{0}, read.net, 16))
    return refuse("the name of the network namespace is not a number");
  while (!rest.empty()) {
    CardInterface interface;
    if (!read_card_interface(take(rest, ' '), interface))
      return refuse("interface " + std::to_string(read.interfaces.size() + 1) + " is malformed");
    if (read.interfaces.size() == kMostCardInterfaces) return refuse("too many interfaces");
    read.interfaces.push_back(std::move(interface));
  }
  if (read.interfaces.empty()) return refuse("it names no interface");
  card = std::move(read);
  return true;
}

std::vector<Pair> pair_up(const NetCard& ours, const NetCard& theirs, bool we_are_first) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < ours.interfaces.size(); ++i)
    for (std::size_t j = 0; j < theirs.interfaces.size(); ++j)
      add_candidate(ours, theirs, i, j, we_are_first, candidates);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.tier, b.mbit, a.apart, a.first_side, a.second_side) <
           std::tie(b.tier, a.mbit, b.apart, b.first_side, b.second_side);
  });
  std::vector<Pair> pairs;
  for (const Candidate& each : candidates) {
    // Where there is a good pair, a doubtful pair would only share its cable.
    if (pairs.size() == kMostLinks || (candidates.front().tier == 0 && each.tier > 0)) break;
    pairs.push_back(each.pair);
  }
  return pairs;
}

std::uint32_t payload_bytes(std::uint32_t mtu, std::uint8_t family) noexcept {
  constexpr std::uint32_t kUdpHead = 8;
  const std::uint32_t ip_head = family == 4 ? 20 : 40;
  const std::uint32_t most = family == 4 ? 65535 - 20 - kUdpHead : 65535 - kUdpHead;
  return std::min(mtu - ip_head - kUdpHead, most);
}

}  // namespace herald::path::udp
