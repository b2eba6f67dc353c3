// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/interfaces.hpp"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/fd.hpp"

namespace herald::path::udp {
namespace {

constexpr std::size_t kMostInterfaces = 16;

// Queries the kernel about one interface by ioctl: /sys may show another network namespace than ours.
class InterfaceQuery {
 public:
  InterfaceQuery() : fd_(safe_fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))) {
    if (fd_ < 0) fd_ = safe_fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  }
  ~InterfaceQuery() {
    if (fd_ >= 0) ::close(fd_);
  }
  InterfaceQuery(const InterfaceQuery&) = delete;
  InterfaceQuery& operator=(const InterfaceQuery&) = delete;

  bool request(const std::string& name, unsigned long what, ifreq& answer) const {
    std::memset(answer.ifr_name, 0, sizeof answer.ifr_name);
    name.copy(answer.ifr_name, sizeof answer.ifr_name - 1);
    return ::ioctl(fd_, what, &answer) == 0;
  }
  std::uint32_t mtu(const std::string& name) const {
    ifreq answer{};
    return request(name, SIOCGIFMTU, answer) && answer.ifr_mtu > 0
               ? static_cast<std::uint32_t>(answer.ifr_mtu)
               : 1500;
  }
  // ARPHRD_*: an interface without Ethernet below it is a tunnel.
  bool is_tunnel(const std::string& name) const {
    ifreq answer{};
    if (!request(name, SIOCGIFHWADDR, answer)) return false;
    const int type = answer.ifr_hwaddr.sa_family;
    if (type != ARPHRD_ETHER && type != ARPHRD_LOOPBACK && type != ARPHRD_INFINIBAND) return true;
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    answer.ifr_data = reinterpret_cast<char*>(&driver);
    return request(name, SIOCETHTOOL, answer) && std::string_view(driver.driver) == "tun";
  }
  // 0: not known.
  std::uint32_t mbit(const std::string& name) const {
    ethtool_cmd link{};
    link.cmd = ETHTOOL_GSET;
    ifreq answer{};
    answer.ifr_data = reinterpret_cast<char*>(&link);
    if (!request(name, SIOCETHTOOL, answer)) return 0;
    const std::uint32_t speed = ethtool_cmd_speed(&link);
    return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) || speed == 0xffff ? 0 : speed;
  }

 private:
  int fd_;
};

std::uint8_t prefix_bits(const sockaddr* mask) {
  Address address;
  if (!from_sockaddr(mask, address)) return 0;
  int bits = 0;
  for (const std::uint8_t byte : address.raw) bits += std::popcount(byte);
  return static_cast<std::uint8_t>(bits);
}

void describe(const InterfaceQuery& query, Interface& interface, unsigned flags) {
  interface.index = if_nametoindex(interface.name.c_str());
  interface.mtu = query.mtu(interface.name);
  interface.mbit = query.mbit(interface.name);
  interface.up = (flags & IFF_UP) != 0;
  interface.multicast = (flags & IFF_MULTICAST) != 0;
  if ((flags & IFF_LOOPBACK) != 0)
    interface.kind = InterfaceKind::loopback;
  else if ((flags & IFF_RUNNING) == 0 || (flags & IFF_POINTOPOINT) != 0 ||
           is_secondary_name(interface.name) || query.is_tunnel(interface.name))
    interface.kind = InterfaceKind::secondary;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, end);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    if (!word.empty()) words.push_back(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string names_of(std::span<const Interface> all) {
  std::string names;
  for (const Interface& each : all) {
    if (!names.empty()) names += ", ";
    names += each.name;
    if (!each.up) names += " (down)";
  }
  return names.empty() ? "none" : names;
}

std::string addresses_of(std::span<const Interface> all) {
  std::string text;
  for (const Interface& each : all)
    for (const Prefix& prefix : each.addresses) {
      if (!text.empty()) text += ", ";
      text += each.name + " " + to_text(prefix.address) + "/" + std::to_string(prefix.bits);
    }
  return text.empty() ? "none" : text;
}

bool read_networks(std::string_view networks, std::vector<Prefix>& prefixes, std::string& why) {
  for (const std::string_view word : split(networks)) {
    Prefix prefix;
    if (!parse_prefix(word, prefix)) {
      why = "HERALD_NET=" + std::string(networks) + ": \"" + std::string(word) +
            "\" is not a network; give prefixes like 10.0.0.0/8 or fd00::/8, separated by commas";
      return false;
    }
    prefixes.push_back(prefix);
  }
  return true;
}

// One address of each family; for IPv6 preferably not a link-local one.
std::vector<Prefix> usable_addresses(const Interface& interface, std::span<const Prefix> networks) {
  const Prefix* four = nullptr;
  const Prefix* six = nullptr;
  for (const Prefix& each : interface.addresses) {
    const bool allowed =
        networks.empty() || std::any_of(networks.begin(), networks.end(),
                                        [&](const Prefix& net) { return net.contains(each.address); });
    if (!allowed) continue;
    const Prefix*& place = each.address.family == 4 ? four : six;
    if (place == nullptr || (place->address.is_link_local() && !each.address.is_link_local())) place = &each;
  }
  std::vector<Prefix> usable;
  if (four != nullptr) usable.push_back(*four);
  if (six != nullptr) usable.push_back(*six);
  return usable;
}

bool take_named(std::span<const Interface> all, std::string_view names, std::vector<Interface>& taken,
                std::string& why) {
  const std::string setting = "HERALD_IF=" + std::string(names) + ": ";
  for (const std::string_view name : split(names)) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Interface& each) { return each.name == name; });
    if (found == all.end()) {
      why = setting + "there is no interface " + std::string(name) + " on this host; there are " +
            names_of(all);
      return false;
    }
    if (!found->up) {
      why = setting + std::string(name) + " is down; bring it up (ip link set " + std::string(name) +
            " up) or name another of " + names_of(all);
      return false;
    }
    const bool twice = std::any_of(taken.begin(), taken.end(), [&](auto& each) { return each.name == name; });
    if (!twice) taken.push_back(*found);
  }
  if (taken.empty()) why = setting + "names no interface; there are " + names_of(all);
  return !taken.empty();
}

}  // namespace

bool is_secondary_name(std::string_view name) noexcept {
  for (const std::string_view begin :
       {"docker", "br-", "cni", "virbr",     "veth",  "podman",  "flannel", "cali",
        "cilium", "lxc", "lxd", "vnet",      "vmnet", "vboxnet", "kube",    "weave",
        "tun",    "tap", "wg",  "tailscale", "zt",    "ppp",     "nebula",  "dummy"})
    if (name.starts_with(begin)) return true;
  return false;
}

std::vector<Interface> list_interfaces() {
  std::vector<Interface> all;
  const InterfaceQuery query;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return all;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const Interface& each) { return each.name == entry->ifa_name; });
    if (found == all.end()) {
      Interface fresh;
      fresh.name = entry->ifa_name;
      describe(query, fresh, entry->ifa_flags);
      found = all.insert(all.end(), std::move(fresh));
    }
    Address address;
    if (from_sockaddr(entry->ifa_addr, address))
      found->addresses.push_back({address, prefix_bits(entry->ifa_netmask)});
  }
  freeifaddrs(list);
  std::stable_sort(all.begin(), all.end(), [](const Interface& a, const Interface& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.mbit > b.mbit;
  });
  return all;
}

bool choose_interfaces(std::span<const Interface> all, std::string_view names, std::string_view networks,
                       std::vector<Interface>& chosen, std::string& why) {
  std::vector<Prefix> prefixes;
  if (!read_networks(networks, prefixes, why)) return false;
  std::vector<Interface> candidates;
  if (!names.empty()) {
    if (!take_named(all, names, candidates, why)) return false;
  } else {
    for (const Interface& each : all)
      if (each.up) candidates.push_back(each);
  }
  std::vector<Interface> left, loopback;
  for (Interface& each : candidates) {
    each.addresses = usable_addresses(each, prefixes);
    if (each.addresses.empty()) continue;
    const bool spare = names.empty() && each.kind == InterfaceKind::loopback;
    (spare ? loopback : left).push_back(std::move(each));
  }
  if (left.empty()) left = std::move(loopback);
  if (left.empty()) {
    if (!prefixes.empty())
      why = "HERALD_NET=" + std::string(networks) + ": no interface that may be used has an address there; " +
            "addresses are " + addresses_of(all);
    else if (!names.empty())
      why = "HERALD_IF=" + std::string(names) + ": no IP address; addresses are " + addresses_of(all);
    else
      why = "no network interface is up with an IP address; interfaces are " + names_of(all);
    return false;
  }
  if (left.size() > kMostInterfaces) left.resize(kMostInterfaces);
  chosen = std::move(left);
  return true;
}

}  // namespace herald::path::udp
