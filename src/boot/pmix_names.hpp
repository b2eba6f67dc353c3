// SPDX-License-Identifier: BSD-3-Clause
// boot/pmix_names.hpp: names of ports that the engine of PMIx keeps for its jobs.
#pragma once
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "boot/pmix_library.hpp"

namespace herald::boot {

// unsupported: the engine keeps no names. `why` is set with every status but ok.
class PmixNames {
 public:
  explicit PmixNames(const pmix::Library& library) noexcept : library_(library) {}

  // bad_argument: published already.
  Status publish(std::string_view service, std::string_view port, std::string& why);
  Status lookup(std::string_view service, std::string& port, std::string& why);  // not_found
  // not_found; bad_argument: another process has published it.
  Status unpublish(std::string_view service, std::string& why);

 private:
  Status explain(pmix::Code code, const char* call, std::string& why) const;
  bool is_published(const std::string& key, std::string* port, pmix::Code& code) const;

  const pmix::Library& library_;
};

}  // namespace herald::boot
