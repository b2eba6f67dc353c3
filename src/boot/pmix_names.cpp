// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmix_names.hpp"

#include <cstdlib>
#include <cstring>

namespace herald::boot {
namespace {

// PMIx keeps keys that begin with "pmix" for itself.
std::string key_of(std::string_view service) { return "herald.port." + std::string(service); }

}  // namespace

Status PmixNames::explain(pmix::Code code, const char* call, std::string& why) const {
  why = std::string(call) + ": " + pmix::text_of(library_, code);
  const bool is_missing = code == pmix::kErrNotSupported || code == pmix::kErrUnreach;
  return is_missing ? Status::unsupported : Status::engine_broken;
}

bool PmixNames::is_published(const std::string& key, std::string* port, pmix::Code& code) const {
  pmix::Published found{};
  std::strncpy(found.key, key.c_str(), pmix::kLongestKey);
  code = library_.lookup(&found, 1, nullptr, 0);
  if (code != pmix::kSuccess || found.value.type != pmix::Type::string || found.value.data.string == nullptr)
    return false;
  if (port != nullptr) *port = found.value.data.string;
  std::free(found.value.data.string);
  return true;
}

// Looked up first: some engines take a second value for a key, others hand out the first one for ever.
Status PmixNames::publish(std::string_view service, std::string_view port, std::string& why) {
  const std::string key = key_of(service);
  const std::string text(port);
  const pmix::Info info = pmix::make_text(key.c_str(), text.c_str());
  pmix::Code looked_up, code = pmix::kErrDuplicateKey;
  if (!is_published(key, nullptr, looked_up)) code = library_.publish(&info, 1);
  if (code == pmix::kSuccess) return Status::ok;
  if (code != pmix::kErrDuplicateKey) return explain(code, "PMIx_Publish", why);
  why = "this name is published already";
  return Status::bad_argument;
}

Status PmixNames::lookup(std::string_view service, std::string& port, std::string& why) {
  pmix::Code code;
  if (is_published(key_of(service), &port, code)) return Status::ok;
  if (code != pmix::kSuccess && code != pmix::kErrNotFound) return explain(code, "PMIx_Lookup", why);
  why = "nobody has published this name";
  return Status::not_found;
}

Status PmixNames::unpublish(std::string_view service, std::string& why) {
  std::string key = key_of(service);
  pmix::Code code;
  if (is_published(key, nullptr, code)) {
    char* keys[] = {key.data(), nullptr};
    code = library_.unpublish(keys, nullptr, 0);
    if (code != pmix::kSuccess) return explain(code, "PMIx_Unpublish", why);
    if (!is_published(key, nullptr, code)) return Status::ok;
    why = "another process has published this name, and under this launcher only that one can take it back";
    return Status::bad_argument;
  }
  if (code != pmix::kSuccess && code != pmix::kErrNotFound) return explain(code, "PMIx_Lookup", why);
  why = "nobody has published this name";
  return Status::not_found;
}

}  // namespace herald::boot
