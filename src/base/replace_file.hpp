// SPDX-License-Identifier: BSD-3-Clause
// base/replace_file.hpp: writes a file whole or not at all: readers see the old one or the new one.
#pragma once
#include <string>

namespace herald {

// False: the old file is as it was, and `why` says what failed.
bool replace_file(const std::string& path, const std::string& text, std::string& why);

}  // namespace herald
