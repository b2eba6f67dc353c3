// SPDX-License-Identifier: BSD-3-Clause
// Ports, and the calls that join two groups over them.
#include <cstring>
#include <map>

#include "calls.hpp"
#include "engine/clock.hpp"
#include "mpi/core/request.hpp"
#include "mpi/dyn/port.hpp"
#include "path/random.hpp"

namespace herald::mpi::api {
namespace {

constexpr Duration kAcceptedWithin = milliseconds(180'000);  // until the owner of a port accepts
constexpr Duration kNoLimit{INT64_MAX / 4};

// Those that this process has opened. Shared: MPI_Close_port may come while another thread accepts.
std::map<std::string, std::shared_ptr<Port>>& open_ports() noexcept {
  static auto& all = *new std::map<std::string, std::shared_ptr<Port>>;
  return all;
}

bool is_intra(Call& call, const Comm& comm, int argument) noexcept {
  if (comm.remote != nullptr)
    (void)call.fail(MPI_ERR_COMM, "argument %d (comm) is an inter-communicator; give an intra-communicator",
                    argument);
  return comm.remote == nullptr;
}

std::unique_ptr<StreamChannel> accept_at(const char* name, Duration limit, Meeting& meeting) noexcept {
  meeting.error = MPI_ERR_PORT;
  const auto found = name != nullptr ? open_ports().find(name) : open_ports().end();
  if (found == open_ports().end()) {
    meeting.why =
        "argument 1 (port_name) is no open port of this process: the root gives the text that its own "
        "MPI_Open_port returned";
    return nullptr;
  }
  const std::shared_ptr<Port> port = found->second;
  const engine::Engine::Polling polling(runtime().engine());
  const Instant begin = engine::read_clock();
  std::unique_ptr<StreamChannel> channel;
  bool late = false, closed = false;
  wait_until([&] {
    channel = port->poll();
    late = engine::read_clock() - begin > limit;
    closed = port.use_count() == 1;
    return channel != nullptr || late || closed;
  });
  if (channel != nullptr)
    meeting.error = MPI_SUCCESS;
  else
    meeting.why = closed ? "the port was closed meanwhile" : "nobody connected in time (info key timeout)";
  return channel;
}

int finish(Call& call, Comm* made, MPI_Comm* newcomm) noexcept {
  if (made == nullptr) return call.error();
  *newcomm = handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace

int open_port(Call& call, Info*, char* port_name) {
  if (port_name == nullptr)
    return call.fail(
        MPI_ERR_ARG,
        "argument 2 (port_name) is a null pointer; give a buffer of MPI_MAX_PORT_NAME characters");
  std::string why;
  std::shared_ptr<Port> port = Port::open(call, why);
  if (port == nullptr) return call.fail(MPI_ERR_OTHER, "no port can be opened: %s", why.c_str());
  const std::string& name = port->name();
  if (name.size() >= MPI_MAX_PORT_NAME)
    return call.fail(MPI_ERR_OTHER, "the addresses of this host are too many: choose some with HERALD_IF");
  std::memcpy(port_name, name.c_str(), name.size() + 1);
  open_ports()[name] = std::move(port);
  return MPI_SUCCESS;
}

int close_port(Call& call, const char* port_name) {
  if (open_ports().erase(port_name) != 0) return MPI_SUCCESS;
  return call.fail(MPI_ERR_PORT, "argument 1 (port_name) is no open port of this process");
}

int comm_accept(Call& call, const char* port_name, Info* info, int root, Comm* comm, MPI_Comm* newcomm) {
  if (!is_intra(call, *comm, 4)) return call.error();
  Meeting meeting;
  std::unique_ptr<StreamChannel> channel;
  if (comm->rank == root) {
    channel = accept_at(port_name, time_limit(info, kNoLimit), meeting);
    meeting.channel = channel.get();
    meeting.lower = true;
  }
  return finish(call, introduce(call, *comm, root, meeting), newcomm);
}

int comm_connect(Call& call, const char* port_name, Info* info, int root, Comm* comm, MPI_Comm* newcomm) {
  if (!is_intra(call, *comm, 4)) return call.error();
  Meeting meeting;
  std::unique_ptr<StreamChannel> channel;
  if (comm->rank == root) {
    channel = connect_to_port(port_name != nullptr ? port_name : "", time_limit(info, kAcceptedWithin),
                              meeting.error, meeting.why);
    if (channel != nullptr) meeting.error = MPI_SUCCESS;
    meeting.channel = channel.get();
  }
  return finish(call, introduce(call, *comm, root, meeting), newcomm);
}

// Both processes do the same: the larger of two random numbers makes the connecting side. The descriptor is
// trusted, as it has no secret.
int comm_join(Call& call, int fd, MPI_Comm* intercomm) {
  Comm* const self = runtime().self;
  if (self == nullptr) return call.fail(MPI_ERR_OTHER, "there is no MPI_COMM_SELF: call MPI_Init first");
  auto stream = std::make_unique<path::Stream>(fd, true);
  const std::uint64_t own = path::random_number();
  stream->write({reinterpret_cast<const char*>(&own), sizeof own});
  const engine::Engine::Polling polling(runtime().engine());
  wait_until([&] {
    stream->turn(sizeof own - std::min(sizeof own, stream->arrived().size()));
    return stream->has_failed() || (stream->is_flushed() && stream->arrived().size() >= sizeof own);
  });
  if (stream->has_failed())
    return call.fail(MPI_ERR_ARG, "argument 1 (fd) is %d: %s; give a connected socket", fd, stream->error());
  std::uint64_t other = 0;
  std::memcpy(&other, stream->arrived().data(), sizeof other);
  stream->arrived().erase(0, sizeof other);
  const auto side = own > other ? StreamChannel::Side::connecting : StreamChannel::Side::accepting;
  StreamChannel channel(std::move(stream), side, {own ^ other, 0});
  wait_until([&] {
    const StreamChannel::State state = channel.turn();
    return state != StreamChannel::State::greeting && state != StreamChannel::State::proving;
  });
  Meeting meeting;
  meeting.channel = &channel;
  meeting.lower = side == StreamChannel::Side::accepting;
  if (channel.has_failed()) {
    meeting.error = MPI_ERR_OTHER;
    meeting.why = std::string("the process at the other end of the socket did not call MPI_Comm_join: ") +
                  channel.error();
  }
  return finish(call, introduce(call, *self, 0, meeting), intercomm);
}

}  // namespace herald::mpi::api
