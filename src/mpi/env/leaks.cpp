// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/leaks.hpp"

#include <cstdio>
#include <string>

#include "mpi/core/runtime.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

constexpr int kNamesShown = 8;

class Tally {
 public:
  void add(const std::string& name) noexcept {
    ++count_;
    if (name.empty() || named_ == kNamesShown) return;
    names_ += (named_++ == 0 ? " (" : ", ") + name;
  }
  void report(const char* one, const char* many) const noexcept {
    if (count_ == 0) return;
    std::fprintf(stderr, "herald: %s: leak: %d %s not freed%s%s\n", who_am_i(), count_,
                 count_ == 1 ? one : many, names_.c_str(), named_ > 0 ? ")" : "");
  }

 private:
  int count_ = 0, named_ = 0;
  std::string names_;
};

const char* kind_of(const Request& request) noexcept {
  switch (request.kind) {
    case Request::Kind::send: return request.persistent ? "persistent send" : "send";
    case Request::Kind::recv: return request.persistent ? "persistent receive" : "receive";
    case Request::Kind::work: return request.persistent ? "persistent operation" : "operation";
    case Request::Kind::nothing: break;
  }
  return "";
}

}  // namespace

void report_leaks() noexcept {
  Tables& all = tables();
  Tally requests, types, comms, groups, infos, errhandlers, ops, wins, files;
  all.requests.each([&](Request& o) { requests.add(kind_of(o)); });
  all.datatypes.each([&](Datatype& o) {
    if (!o.predefined) types.add(o.name);  // those without a name are never freed
  });
  all.comms.each([&](Comm& o) { comms.add(o.name); });
  all.groups.each([&](Group& o) {
    if (o.users != 0) groups.add("of " + std::to_string(o.size()));
  });
  all.infos.each([&](Info& o) { infos.add(o.entries.empty() ? "" : "with key " + o.entries[0].first); });
  all.errhandlers.each([&](Errhandler& o) {
    if (o.users != 0) errhandlers.add("");
  });
  all.ops.each([&](Op&) { ops.add(""); });
  all.wins.each([&](Win& o) { wins.add(o.name); });
  all.files.each([&](File&) { files.add(""); });
  requests.report("request", "requests");
  types.report("datatype", "datatypes");
  comms.report("communicator", "communicators");
  groups.report("group", "groups");
  infos.report("info object", "info objects");
  errhandlers.report("error handler", "error handlers");
  ops.report("operation", "operations");
  wins.report("window", "windows");
  files.report("file", "files");
}

}  // namespace herald::mpi
