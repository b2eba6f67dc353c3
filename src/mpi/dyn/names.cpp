// SPDX-License-Identifier: BSD-3-Clause
// Names of ports. The launcher keeps them, or the name server that HERALD_NAMES names (`herald names`).
#include <cstring>

#include "calls.hpp"
#include "mpi/dyn/name_server.hpp"

namespace herald::mpi::api {
namespace {

int error_of_name(Status status, int otherwise) noexcept {
  return status == Status::unsupported || status == Status::engine_broken ? MPI_ERR_OTHER : otherwise;
}

bool check_name(Call& call, const char* service) noexcept {
  if (*service == '\0' || std::strlen(service) > 200)
    (void)call.fail(MPI_ERR_ARG, "argument 1 (service_name) must have 1 to 200 characters");
  return !call.failed();
}

}  // namespace

int publish_name(Call& call, const char* service_name, Info*, const char* port_name) {
  if (!check_name(call, service_name)) return call.error();
  if (*port_name == '\0' || std::strlen(port_name) >= MPI_MAX_PORT_NAME ||
      std::strpbrk(port_name, " \n=") != nullptr)
    return call.fail(MPI_ERR_PORT, "argument 3 (port_name) is no port: give what MPI_Open_port returned");
  std::string why;
  const Status status = publish(service_name, port_name, why);
  if (status == Status::ok) return MPI_SUCCESS;
  return call.fail(error_of_name(status, MPI_ERR_SERVICE), "\"%s\": %s", service_name, why.c_str());
}

int lookup_name(Call& call, const char* service_name, Info*, char* port_name) {
  if (!check_name(call, service_name)) return call.error();
  if (port_name == nullptr)
    return call.fail(
        MPI_ERR_ARG,
        "argument 3 (port_name) is a null pointer; give a buffer of MPI_MAX_PORT_NAME characters");
  std::string port, why;
  const Status status = lookup(service_name, port, why);
  if (status != Status::ok)
    return call.fail(error_of_name(status, MPI_ERR_NAME), "\"%s\": %s", service_name, why.c_str());
  const std::size_t length = std::min<std::size_t>(port.size(), MPI_MAX_PORT_NAME - 1);
  std::memcpy(port_name, port.data(), length);
  port_name[length] = '\0';
  return MPI_SUCCESS;
}

int unpublish_name(Call& call, const char* service_name, Info*, const char*) {
  if (!check_name(call, service_name)) return call.error();
  std::string why;
  const Status status = unpublish(service_name, why);
  if (status == Status::ok) return MPI_SUCCESS;
  return call.fail(error_of_name(status, MPI_ERR_SERVICE), "\"%s\": %s", service_name, why.c_str());
}

}  // namespace herald::mpi::api
