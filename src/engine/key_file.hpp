// SPDX-License-Identifier: BSD-3-Clause
// engine/key_file.hpp: reads a file with a secret. Refuses one that others can read or write.
#pragma once
#include <string>

namespace herald::engine {

bool read_key_file(const std::string& path, std::string& secret, std::string& why);

}  // namespace herald::engine
