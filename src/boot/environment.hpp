// SPDX-License-Identifier: BSD-3-Clause
// boot/environment.hpp: environment variables and numbers that a launcher set; none is trusted.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace herald::boot {

// The value of `name` in an array of "NAME=value" strings that ends with a null pointer; null if absent.
const char* find_variable(char** environment, std::string_view name) noexcept;

// A whole decimal number from lowest to highest, nothing before or after it.
std::optional<int> parse_int(std::string_view text, int lowest, int highest) noexcept;

// As parse_int on a variable. Empty and without `why` if it is absent; `why` names it if it is not a number.
std::optional<int> int_variable(char** environment, const char* name, int lowest, int highest,
                                std::string& why);

// Untrusted text, quoted for a message: shortened, printable characters only.
std::string in_quotes(std::string_view text);

}  // namespace herald::boot
