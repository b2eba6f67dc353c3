// SPDX-License-Identifier: BSD-3-Clause
// launch/pmi.cpp: the PMI-1 server. A line is "cmd=NAME key=value key=value\n".
#include "pmi.hpp"

#include <algorithm>
#include <utility>

#include "text.hpp"

namespace herald::launch {
namespace {

std::optional<std::string_view> field(std::string_view line, std::string_view key,
                                      bool rest_of_line = false) {
  return pmi_field(line, key, rest_of_line);
}

}  // namespace

PmiServer::PmiServer(std::string kvs_name, std::vector<int> app_of_rank, long universe)
    : kvs_name_(std::move(kvs_name)),
      app_of_rank_(std::move(app_of_rank)),
      universe_(universe),
      clients_(app_of_rank_.size()),
      barrier_(app_of_rank_.size()) {
  kvs_.reserve(4 * clients_.size());
  kvs_["PMI_process_mapping"] = cat("(vector,(0,1,", clients_.size(), "))");
}

void PmiServer::on_bytes(int rank, std::string_view bytes) {
  Client& client = clients_[index(rank)];
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    if (!client.skipping && client.in.size() + piece.size() > kPmiLineMax) {
      client.skipping = true;
      client.in.clear();
      reply(rank, "cmd=error rc=-1 msg=line_too_long\n");
    }
    if (newline == std::string_view::npos) {
      if (!client.skipping) client.in += piece;
      return;
    }
    bytes.remove_prefix(newline + 1);
    if (client.skipping) {
      client.skipping = false;
    } else if (client.in.empty()) {
      on_line(rank, piece);
    } else {
      const std::string line = std::exchange(client.in, {}) + std::string(piece);
      on_line(rank, line);
    }
  }
}

void PmiServer::on_line(int rank, std::string_view line) {
  Client& client = clients_[index(rank)];
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  if (has_upstream_ && (client.in_mcmd || PmiJobs::takes(line))) {
    client.in_mcmd = (client.in_mcmd || line.starts_with("mcmd=")) && line != "endcmd";
    upward_ += cat("cmd=forward from=", rank, " line=", line, "\n");
    return;
  }
  const Asker asker{rank};
  if (jobs_.in_spawn(asker) || PmiJobs::takes(line)) {
    if (const auto text = jobs_.on_line(asker, line)) answer(asker, *text);
    return;
  }
  if (line.empty()) return;
  on_command(rank, field(line, "cmd").value_or(""), line);
}

void PmiServer::on_command(int rank, std::string_view command, std::string_view line) {
  Client& client = clients_[index(rank)];
  if (command == "get") {
    get(rank, line);
  } else if (command == "put") {
    put(rank, line);
  } else if (command == "barrier_in") {
    if (barrier_.enter(rank)) complete_barrier();
  } else if (command == "init") {
    const bool known = field(line, "pmi_version").value_or("") == "1";
    client.initialized = client.initialized || known;
    reply(rank, cat("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=", known ? 0 : -1, "\n"));
  } else if (command == "get_maxes") {
    reply(rank,
          cat("cmd=maxes kvsname_max=256 keylen_max=", kPmiKeyMax, " vallen_max=", kPmiValueMax, " rc=0\n"));
  } else if (command == "get_appnum") {
    reply(rank, cat("cmd=appnum appnum=", app_of_rank_[index(rank)], " rc=0\n"));
  } else if (command == "get_my_kvsname") {
    reply(rank, cat("cmd=my_kvsname kvsname=", kvs_name_, " rc=0\n"));
  } else if (command == "get_universe_size") {
    reply(rank, cat("cmd=universe_size size=", universe_, " rc=0\n"));
  } else if (command == "finalize") {
    client.finalized = true;
    reply(rank, "cmd=finalize_ack rc=0\n");
  } else if (command == "abort") {
    abort(rank, line);
  } else if (command == "absent" && serves_hosts_) {
    leave(rank);
  } else if (serves_hosts_ && reports_.on_line_from_host(line)) {
    return;
  } else if (command == "forward" && serves_hosts_) {
    const Asker asker{rank, static_cast<int>(to_int(field(line, "from").value_or("")).value_or(0))};
    const std::string_view asked = field(line, "line", true).value_or("");
    if (has_upstream_)  // a server between two others numbers the ranks behind its clients
      upward_ += cat("cmd=forward from=", asker.from * static_cast<int>(clients_.size()) + asker.client,
                     " line=", asked, "\n");
    else if (const auto text = jobs_.on_line(asker, asked))
      answer(asker, *text);
  } else if (command.empty()) {
    reply(rank, "cmd=error rc=-1 msg=no_command\n");
  } else {
    reply(rank, cat("cmd=", command.substr(0, 64), "_result rc=-1 msg=unknown_command\n"));
  }
}

void PmiServer::put(int rank, std::string_view line) {
  const auto kvs = field(line, "kvsname"), key = field(line, "key"), value = field(line, "value", true);
  const char* wrong = nullptr;
  if (!kvs || *kvs != kvs_name_)
    wrong = "no_such_kvs";
  else if (!key || key->empty() || key->size() > kPmiKeyMax)
    wrong = "key_missing_or_too_long";
  else if (!value || value->size() > kPmiValueMax)
    wrong = "value_missing_or_too_long";
  if (wrong) return reply(rank, cat("cmd=put_result rc=-1 msg=", wrong, "\n"));
  kvs_.insert_or_assign(std::string(*key), std::string(*value));
  if (has_upstream_ || serves_hosts_) fresh_.emplace_back(*key);
  if (!serves_hosts_) reply(rank, "cmd=put_result rc=0 msg=success\n");
}

void PmiServer::get(int rank, std::string_view line) {
  const auto kvs = field(line, "kvsname"), key = field(line, "key");
  if (!kvs || *kvs != kvs_name_ || !key)
    return reply(rank, "cmd=get_result rc=-1 msg=no_such_kvs value=unknown\n");
  const auto found = kvs_.find(std::string(*key));
  if (found == kvs_.end()) return reply(rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  std::string text = "cmd=get_result rc=0 msg=success value=";
  text += found->second;
  text += '\n';
  reply(rank, text);
}

void PmiServer::complete_barrier() {
  if (!has_upstream_) return release_barrier();
  for (const std::string& key : std::exchange(fresh_, {}))
    upward_ += cat("cmd=put kvsname=", kvs_name_, " key=", key, " value=", kvs_[key], "\n");
  upward_ += "cmd=barrier_in\n";
}

void PmiServer::release_barrier() {
  barrier_.release();
  std::string news;
  if (serves_hosts_)
    for (const std::string& key : std::exchange(fresh_, {}))
      news += cat("cmd=kv key=", key, " value=", kvs_[key], "\n");
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    reply(static_cast<int>(i), news + "cmd=barrier_out rc=0\n");
  }
}

void PmiServer::use_upstream(const std::string& mapping) {
  has_upstream_ = true;
  reports_.use_upstream();
  if (!mapping.empty()) kvs_["PMI_process_mapping"] = mapping;
  upward_ += "cmd=init pmi_version=1 pmi_subversion=1\n";
}

void PmiServer::on_upstream(std::string_view bytes) {
  upstream_line_ += bytes;
  for (std::size_t end; (end = upstream_line_.find('\n')) != std::string::npos;) {
    on_upstream_line(std::string_view(upstream_line_).substr(0, end));
    upstream_line_.erase(0, end + 1);
  }
}

void PmiServer::on_upstream_line(std::string_view line) {
  if (reports_.on_line_from_upstream(line)) return;
  const std::string_view command = field(line, "cmd").value_or("");
  const auto key = field(line, "key"), value = field(line, "value", true);
  if (command == "kv" && key && value) {
    kvs_.insert_or_assign(std::string(*key), std::string(*value));
    if (serves_hosts_) fresh_.emplace_back(*key);  // they learn it with the barrier
  }
  if (command == "barrier_out") release_barrier();
  if (command == "abort_ranks") abort_ranks(line);
  const auto to = field(line, "to"), text = field(line, "line", true);
  if (command != "forwarded" || !to || !text) return;
  const auto rank = static_cast<int>(to_int(*to).value_or(-1)), count = static_cast<int>(clients_.size());
  if (rank >= 0 && serves_hosts_) return answer({rank % count, rank / count}, cat(*text, "\n"));
  if (rank >= 0 && rank < count) reply(rank, cat(*text, "\n"));
}

// `text` is one line.
void PmiServer::answer(const Asker& asker, std::string_view text) {
  if (asker.from < 0) return reply(asker.client, text);
  reply(asker.client, cat("cmd=forwarded to=", asker.from, " line=", text));
}

void PmiServer::abort(int rank, std::string_view line) {
  if (barrier_.has_left(rank) || abort_) return;
  if (parse_rank_abort(line)) {
    if (has_upstream_)
      upward_ += cat(line, "\n");
    else
      abort_ranks(line);
    return;
  }
  const auto number = [line](const char* key, int otherwise) {
    const auto text = field(line, key);
    return static_cast<int>((text ? to_int(*text) : std::nullopt).value_or(otherwise));
  };
  PmiAbort abort;
  abort.rank = rank;
  abort.code = number("exitcode", 1);
  abort.status = (abort.code & 0xff) == 0 && abort.code != 0 ? 1 : abort.code & 0xff;
  abort.by_exit = field(line, "exited").has_value();
  abort.code = number(abort.by_exit ? "exited" : "given", abort.code);
  abort.message = field(line, "message", true).value_or(field(line, "error_msg", true).value_or(""));
  abort_ = std::move(abort);
}

// Goes up to the server of the whole job as "abort", and from there to all hosts as "abort_ranks": a rank may
// notice the end of a rank of another host, and must find it in the list of its own host.
void PmiServer::abort_ranks(std::string_view line) {
  const auto abort = parse_rank_abort(line);
  if (!abort) return;
  for (std::size_t i = 0; serves_hosts_ && i < clients_.size(); ++i)
    reply(static_cast<int>(i),
          cat("cmd=abort_ranks ", line.substr(std::min(line.find(' ') + 1, line.size())), "\n"));
  rank_aborts_.push_back(*abort);
}

void PmiServer::leave(int rank) {
  const bool first = !barrier_.has_left(rank);
  if (barrier_.leave(rank)) complete_barrier();
  if (first && has_upstream_ && barrier_.have_all_left()) upward_ += "cmd=absent\n";
}

std::vector<int> PmiServer::take_dirty() {
  for (int rank : dirty_) clients_[index(rank)].dirty = false;
  return std::exchange(dirty_, {});
}

void PmiServer::reply(int rank, std::string_view text) {
  Client& client = clients_[index(rank)];
  client.out += text;
  if (!client.dirty) {
    client.dirty = true;
    dirty_.push_back(rank);
  }
}

}  // namespace herald::launch
