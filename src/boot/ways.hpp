// SPDX-License-Identifier: BSD-3-Clause
// boot/ways.hpp: the implementations of Boot that boot::open() chooses from. Null with `why` on failure.
#pragma once
#include <memory>
#include <string>

#include "boot/boot.hpp"

namespace herald::boot {

std::unique_ptr<Boot> open_alone();
// PMI-1 on the inherited socket `fd`, once per process. Rank and size from PMI_RANK and PMI_SIZE.
std::unique_ptr<Boot> open_pmi1_socket(char** environment, int fd, std::string& why);
// PMI-1 over TCP to `host_and_port` ("host:port"), as process PMI_ID. Rank and size from the launcher.
std::unique_ptr<Boot> open_pmi1_port(char** environment, const char* host_and_port, std::string& why);
// PMIx through libpmix.so.2, loaded at run time, which reads the environment itself.
std::unique_ptr<Boot> open_pmix(std::string& why);

}  // namespace herald::boot
