// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/udp.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.hpp"
#include "path/udp/card.hpp"
#include "path/udp/interfaces.hpp"
#include "path/udp/links.hpp"
#include "path/udp/receiver.hpp"
#include "path/udp/sender.hpp"
#include "path/udp/socket.hpp"

namespace herald::path {
namespace udp {
namespace {

constexpr std::uint32_t kLeastMtu = 576;

// A number for this network namespace: two processes have the same one only in the same namespace.
std::uint64_t name_of_net() {
  char text[64] = {};
  if (const int fd = safe_fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)); fd >= 0) {
    (void)!::read(fd, text, sizeof text);
    ::close(fd);
  }
  std::uint64_t mix = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t value) { mix = (mix ^ value) * 0x100000001b3u; };
  for (const char c : text) add(static_cast<unsigned char>(c));
  struct stat net {};
  if (::stat("/proc/self/ns/net", &net) == 0) {
    add(net.st_dev);
    add(net.st_ino);
  }
  return mix ^ (mix >> 29);
}

class Path final : public UdpPath {
 public:
  explicit Path(const UdpConfig& config)
      : config_(config), links_(config.size), sender_(sockets_, links_), receiver_(sockets_, links_) {}

  bool open(std::string& why);
  std::string card() const override { return write_card(card_); }
  std::vector<std::string> addresses() const override;
  int add_peer(int peer, const std::string& text, std::string& why) override;
  int add_foreign(int peer, const std::string& text, bool we_are_first, std::string& why) override;
  void settle() noexcept override;
  std::uint32_t payload_to(int peer) const noexcept override;
  std::string link_name(int peer, std::uint8_t link) const override;
  UdpLocal local_of(int peer, std::uint8_t link) const override;
  UdpEnds ends_of(int peer, std::uint8_t link) const override;
  std::uint32_t datagram_bytes() const noexcept override { return datagram_bytes_; }
  std::uint32_t slowest_mbit() const noexcept override {
    return std::min(slowest_mbit_, fastest_mbit(card_));
  }
  std::uint32_t gso_packets() const noexcept override { return sender_.gso_packets(datagram_bytes_); }
  std::uint32_t largest_bytes() const noexcept override { return largest_bytes_; }
  std::uint32_t receive_bytes() const noexcept override { return receive_bytes_; }
  std::size_t send(std::span<const UdpSend> batch, std::ptrdiff_t& failed) noexcept override {
    return sender_.send(batch, failed);
  }
  bool take_no_port(int peer) noexcept override;
  std::span<const UdpArrival> receive() noexcept override { return receiver_.receive(); }
  bool may_have_more() const noexcept override { return receiver_.may_have_more(); }
  std::span<const int> descriptors() const noexcept override { return descriptors_; }
  bool send_blocked() const noexcept override { return sender_.is_blocked(); }

 private:
  struct Place {  // of a socket in our card
    std::uint8_t interface, address;
  };
  bool open_sockets(const Interface& interface, bool several, std::string& why);
  std::uint8_t socket_at(const Pair& pair) const noexcept;
  Link make_link(const Pair& pair, const NetCard& theirs) const;
  void use(const Link& link);
  int add_links(int peer, const std::string& text, bool we_are_first, std::string& why);
  bool unsettle(std::string& why) noexcept;

  UdpConfig config_;
  std::vector<Interface> interfaces_;  // as in the card
  NetCard card_;
  std::vector<Socket> sockets_;
  std::vector<Place> places_;  // by socket
  Links links_;
  Sender sender_;
  Receiver receiver_;
  std::vector<int> descriptors_;
  std::uint32_t datagram_bytes_ = 65507;
  std::uint32_t slowest_mbit_ = UINT32_MAX;  // of the peers of the job
  std::uint32_t largest_bytes_ = 0;
  std::uint32_t receive_bytes_ = 0;
  bool out_of_ports_ = false;  // an address has no free port of the range
};

bool Path::open(std::string& why) {
  std::vector<Interface> chosen;
  if (!choose_interfaces(list_interfaces(), config_.interfaces, config_.networks, chosen, why)) return false;
  card_.net = name_of_net();
  for (const Interface& each : chosen) {
    if (each.mtu < kLeastMtu) continue;
    if (!open_sockets(each, chosen.size() > 1, why)) {
      if (out_of_ports_) return false;
      continue;  // another interface may work
    }
    interfaces_.push_back(each);
  }
  if (sockets_.empty()) return false;
  for (const CardInterface& each : card_.interfaces)
    for (const CardAddress& address : each.addresses)
      datagram_bytes_ = std::min(datagram_bytes_, payload_bytes(each.mtu, address.prefix.address.family));
  std::uint32_t largest = 0;
  for (const CardInterface& each : card_.interfaces) largest = std::max(largest, each.mtu);
  receiver_.open(std::min<std::uint32_t>(largest, 65536));
  return true;
}

bool Path::open_sockets(const Interface& interface, bool several, std::string& why) {
  CardInterface entry{interface.name, interface.mtu, interface.mbit, interface.kind, {}};
  for (const Prefix& prefix : interface.addresses) {
    Socket socket;
    const bool leave_by_it = several && interface.kind != InterfaceKind::loopback;
    if (!socket.open({prefix.address, interface.index, config_.socket_bytes, config_.segment, leave_by_it,
                      config_.ports, static_cast<std::uint32_t>(config_.rank), config_.take_port},
                     why)) {
      out_of_ports_ = out_of_ports_ || socket.is_out_of_ports();
      continue;
    }
    // Half of the buffer that the kernel reports is overhead.
    const std::uint32_t holds = socket.receive_buffer() / 2;
    receive_bytes_ = receive_bytes_ == 0 ? holds : std::min(receive_bytes_, holds);
    places_.push_back({static_cast<std::uint8_t>(card_.interfaces.size()),
                       static_cast<std::uint8_t>(entry.addresses.size())});
    entry.addresses.push_back({prefix, socket.port()});
    sockets_.push_back(std::move(socket));
  }
  if (entry.addresses.empty()) return false;
  card_.interfaces.push_back(std::move(entry));
  return true;
}

std::uint8_t Path::socket_at(const Pair& pair) const noexcept {
  std::size_t at = 0;
  while (places_[at].interface != pair.our_interface || places_[at].address != pair.our_address) ++at;
  return static_cast<std::uint8_t>(at);
}

Link Path::make_link(const Pair& pair, const NetCard& theirs) const {
  const Interface& our = interfaces_[pair.our_interface];
  const CardInterface& their = theirs.interfaces[pair.their_interface];
  const CardAddress& to = their.addresses[pair.their_address];
  Link link;
  sockaddr_storage name;
  const socklen_t length = to_sockaddr(to.prefix.address, to.port, our.index, name);
  std::copy_n(reinterpret_cast<const char*>(&name), length, reinterpret_cast<char*>(&link.to));
  link.socket = socket_at(pair);
  std::uint32_t mtu = std::min(our.mtu, their.mtu);
  if (pair.routed) mtu = std::min(mtu, route_mtu(name, length));
  link.payload =
      static_cast<std::uint16_t>(payload_bytes(std::max(mtu, kLeastMtu), to.prefix.address.family));
  return link;
}

void Path::use(const Link& link) {
  const auto used = receiver_.used().size();
  receiver_.use(link.socket);
  if (receiver_.used().size() > used) descriptors_.push_back(sockets_[link.socket].fd());
}

std::vector<std::string> Path::addresses() const {
  std::vector<std::string> all;
  for (const CardInterface& each : card_.interfaces)
    for (const CardAddress& address : each.addresses)
      if (address.prefix.address.family == 4 || !address.prefix.address.is_link_local())
        all.push_back(to_text(address.prefix.address));
  return all;
}

int Path::add_peer(int peer, const std::string& text, std::string& why) {
  const bool in_job = peer >= 0 && peer < config_.size;
  if (!in_job || links_.has(peer)) {
    why = "rank " + std::to_string(peer) + (in_job ? " was added before" : " is not in the job");
    return 0;
  }
  return add_links(peer, text, config_.rank < peer, why);
}

int Path::add_foreign(int peer, const std::string& text, bool we_are_first, std::string& why) {
  return unsettle(why) ? add_links(peer, text, we_are_first, why) : 0;
}

int Path::add_links(int peer, const std::string& text, bool we_are_first, std::string& why) {
  NetCard theirs;
  if (!read_card(text, theirs, why)) {
    why = "rank " + std::to_string(peer) + ": " + why;
    return 0;
  }
  if (peer < config_.size) slowest_mbit_ = std::min(slowest_mbit_, fastest_mbit(theirs));
  std::vector<Link> found;
  for (const Pair& pair : pair_up(card_, theirs, we_are_first)) {
    Link link = make_link(pair, theirs);
    link.peer = peer;
    link.number = static_cast<std::uint8_t>(found.size() & 15);
    if (links_.all().empty() && found.empty()) datagram_bytes_ = link.payload;
    datagram_bytes_ = std::min<std::uint32_t>(datagram_bytes_, link.payload);
    // The path MTU that the other end assumes may be larger than that of our routes.
    const std::uint32_t mtu = interfaces_[pair.our_interface].mtu;
    largest_bytes_ = std::max(largest_bytes_, payload_bytes(mtu, 4));
    use(link);
    found.push_back(link);
  }
  if (found.empty()) {
    why = "no address of rank " + std::to_string(peer) + " can be reached from here; ours: " + card() +
          "; its: " + write_card(theirs) + "; choose interfaces with HERALD_IF or networks with HERALD_NET";
    return 0;
  }
  links_.add(peer, found);
  return static_cast<int>(found.size());
}

// A connected socket would drop the datagrams of a peer that comes later.
bool Path::unsettle(std::string& why) noexcept {
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    if (!sockets_[i].is_connected()) continue;
    const Place place = places_[i];
    const CardAddress& own = card_.interfaces[place.interface].addresses[place.address];
    if (!sockets_[i].disconnect(own.prefix.address, interfaces_[place.interface].index, why)) return false;
    receiver_.disconnect(static_cast<std::uint8_t>(i));
  }
  return true;
}

// A socket with a single peer address is connected to it: the kernel caches the route and drops datagrams of
// other senders.
void Path::settle() noexcept {
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    const auto ours = [i](const Link& link) { return link.socket == i; };
    const std::span<const Link> links = links_.all();
    const auto first = std::find_if(links.begin(), links.end(), ours);
    if (std::count_if(links.begin(), links.end(), ours) != 1 || !sockets_[i].connect(first->to.base))
      continue;
    receiver_.connect(static_cast<std::uint8_t>(i), *first);
  }
}

std::uint32_t Path::payload_to(int peer) const noexcept {
  std::uint32_t least = 65507;
  for (std::uint8_t i = 0; const Link* link = links_.find(peer, i); ++i)
    least = std::min<std::uint32_t>(least, link->payload);
  return least;
}

bool Path::take_no_port(int peer) noexcept {
  bool any = false;
  for (std::uint8_t i = 0; Link* const link = links_.find(peer, i); ++i) {
    any = any || link->no_port != 0;
    link->no_port = 0;
  }
  return any;
}

std::string Path::link_name(int peer, std::uint8_t number) const {
  const Link* link = links_.find(peer, number);
  if (link == nullptr) return "no such link";
  const Place place = places_[link->socket];
  const CardInterface& our = card_.interfaces[place.interface];
  Address to;
  (void)from_sockaddr(&link->to.base, to);
  return our.name + " " + to_text(our.addresses[place.address].prefix.address) + " -> " + to_text(to);
}

UdpLocal Path::local_of(int peer, std::uint8_t number) const {
  const Link* link = links_.find(peer, number);
  if (link == nullptr) return {};
  const Place place = places_[link->socket];
  const Address& own = card_.interfaces[place.interface].addresses[place.address].prefix.address;
  Address to;
  (void)from_sockaddr(&link->to.base, to);
  return {own.family, own.raw, interfaces_[place.interface].index, to == own};
}

UdpEnds Path::ends_of(int peer, std::uint8_t number) const {
  const Link* link = links_.find(peer, number);
  if (link == nullptr) return {};
  const Place place = places_[link->socket];
  const Address& own = card_.interfaces[place.interface].addresses[place.address].prefix.address;
  UdpEnds ends;
  ends.length =
      to_sockaddr(own, sockets_[link->socket].port(), interfaces_[place.interface].index, ends.ours);
  std::copy_n(reinterpret_cast<const char*>(&link->to), ends.length, reinterpret_cast<char*>(&ends.theirs));
  return ends;
}

}  // namespace
}  // namespace udp

std::unique_ptr<UdpPath> UdpPath::open(const UdpConfig& config, std::string& why) {
  auto path = std::make_unique<udp::Path>(config);
  if (!path->open(why)) return nullptr;
  return path;
}

}  // namespace herald::path
