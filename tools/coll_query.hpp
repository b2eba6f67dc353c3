// SPDX-License-Identifier: BSD-3-Clause
// tools/coll_query.hpp: a collective, a size and a placement of ranks as words of a command line.
#pragma once
#include <string>

#include "coll/table.hpp"
#include "model/text.hpp"

namespace herald::tools {

std::string all_ops();
// Each throws CLI::ValidationError with a sentence.
coll::Op parse_op(std::string text);
std::uint64_t parse_size(const std::string& text);
// "16" ranks on `hosts` hosts (0: one), or "8x4": 8 hosts with 4 ranks each.
coll::Shape parse_shape(const std::string& ranks, int hosts, bool commutes);
// The named .model or .json file, or the newest one of this host. False: there is none.
bool load_model(const std::string& file, model::Measured& out);

}  // namespace herald::tools
