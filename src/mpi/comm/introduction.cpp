// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/introduction.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"

namespace herald::mpi {
namespace {

// From a root to its group.
struct Terms {
  std::int32_t error = MPI_SUCCESS, remote_size = 0, lower = 0, unused = 0;
  std::uint64_t context = 0;
  wire::SecretKey secret{};
  char why[512] = {};
};

// Between the roots.
struct Hello {
  wire::Le<std::uint32_t> size;
  wire::Le<std::uint64_t> context;
};

// How a member got on, and why not.
struct Outcome {
  std::int32_t good = 1;
  char why[252] = {};
};

void set_text(std::span<char> to, const std::string& text) noexcept {
  std::snprintf(to.data(), to.size(), "%s", text.c_str());
}

// A member of the other group.
struct Member {
  std::string text;  // its card
  engine::ProcessCard card;
  std::int32_t own_id = -1;    // ours there
  bool is_rank = false;        // of our own job
  bool shares_memory = false;  // with us
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

// A line of the exchange has the first id that its process reserved, and its card.
std::string text_of(const std::string& line) {
  return line.substr(std::min(line.find(' '), line.size() - 1) + 1);
}

class Introduction {
 public:
  Introduction(Call& call, Comm& local, int root, const Meeting& meeting) noexcept
      : call_(call), local_(local), root_(root), meeting_(meeting) {}
  Comm* run() noexcept;

 private:
  bool is_root() const noexcept { return local_.rank == root_; }
  std::int32_t id_of(std::size_t member) const noexcept {
    return first_id_ + static_cast<std::int32_t>(member);
  }
  engine::ForeignPeers& foreign() noexcept { return runtime().engine().foreign(); }
  bool agree_terms() noexcept;
  void meet_root() noexcept;
  bool exchange_cards() noexcept;
  void note_hosts(const std::vector<std::string>& own_cards) noexcept;
  bool read_cards() noexcept;
  bool attach_memory() noexcept;
  bool add_members() noexcept;
  bool all_good(const Outcome& mine) noexcept;
  bool gather_cards(const std::string& own, std::string& all) noexcept;
  bool share(std::string& text) noexcept;
  bool fail(int error, const char* why) noexcept {
    (void)call_.fail(error, "%s", why);
    return false;
  }

  Call& call_;
  Comm& local_;
  const int root_;
  const Meeting& meeting_;
  Terms terms_;
  std::int32_t first_id_ = 0;
  std::vector<std::string> cards_;  // of the other group
  std::vector<Member> members_;     // the same, read
  std::vector<std::int32_t> peers_;
};

void Introduction::meet_root() noexcept {
  terms_.error = meeting_.error;
  std::string why = meeting_.why, in, ignored;
  (void)runtime().open_foreign(call_,
                               ignored);  // before a context is proposed: it must be unique in both jobs
  if (terms_.error == MPI_SUCCESS) {
    Hello hello;
    hello.size = static_cast<std::uint32_t>(local_.size);
    hello.context = propose_context();
    if (!meeting_.channel->exchange({reinterpret_cast<const char*>(&hello), sizeof hello}, in, why) ||
        in.size() != sizeof hello) {
      terms_.error = MPI_ERR_PORT;
      if (why.empty()) why = "the other job sent what this library does not understand";
    } else {
      Hello other;
      std::memcpy(&other, in.data(), sizeof other);
      terms_.remote_size = static_cast<std::int32_t>(other.size);
      terms_.lower = meeting_.lower ? 1 : 0;
      terms_.context = meeting_.lower ? hello.context : other.context;
      terms_.secret = meeting_.channel->secret();
    }
  }
  set_text(terms_.why, why);
}

bool Introduction::agree_terms() noexcept {
  if (is_root()) meet_root();
  if (const int error = bcast_bytes(local_, &terms_, sizeof terms_, root_); error != MPI_SUCCESS)
    return fail(error, "the members could not reach each other");
  return terms_.error == MPI_SUCCESS || fail(terms_.error, terms_.why);
}

// The cards of this group, a line each.
bool Introduction::gather_cards(const std::string& own, std::string& all) noexcept {
  std::uint64_t mine = own.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(local_.size));
  if (allgather_bytes(local_, &mine, sizes.data(), sizeof mine) != MPI_SUCCESS) return false;
  const std::size_t each = *std::max_element(sizes.begin(), sizes.end());
  std::string padded = own, lines(each * sizes.size(), '\0');
  padded.resize(each);
  if (allgather_bytes(local_, padded.data(), lines.data(), each) != MPI_SUCCESS) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) all += lines.substr(i * each, sizes[i]) + "\n";
  return true;
}

// The text of the root, at all members.
bool Introduction::share(std::string& text) noexcept {
  std::uint64_t bytes = text.size();
  if (bcast_bytes(local_, &bytes, sizeof bytes, root_) != MPI_SUCCESS) return false;
  text.resize(bytes);
  return bytes == 0 || bcast_bytes(local_, text.data(), bytes, root_) == MPI_SUCCESS;
}

bool Introduction::exchange_cards() noexcept {
  std::string why, own, all, other;
  if (runtime().open_foreign(call_, why)) {
    first_id_ = foreign().reserve(terms_.remote_size);
    own = std::to_string(first_id_) + " " + foreign().card();
  } else {
    own = "!" + why;
  }
  if (!gather_cards(own, all)) return fail(MPI_ERR_OTHER, "the members could not reach each other");
  if (is_root() && !meeting_.channel->exchange(all, other, why)) other = "!" + why + "\n";
  if (!share(other)) return fail(MPI_ERR_OTHER, "the members could not reach each other");
  cards_ = lines_of(other);
  for (const auto& lines : {lines_of(all), cards_})
    for (const std::string& line : lines)
      if (line.starts_with('!')) return fail(MPI_ERR_OTHER, line.c_str() + 1);
  note_hosts(lines_of(all));
  return true;
}

// Of our own group: what the other group learns of it.
void Introduction::note_hosts(const std::vector<std::string>& own_cards) noexcept {
  for (std::size_t i = 0; i < own_cards.size(); ++i) {
    engine::ProcessCard card;
    if (engine::read_process_card(text_of(own_cards[i]), card))
      engine::job_hosts_of(runtime().engine())
          .set(local_.group->peers[i], {card.name.job, card.host, card.casts});
  }
}

bool Introduction::read_cards() noexcept {
  if (cards_.size() != static_cast<std::size_t>(terms_.remote_size))
    return fail(MPI_ERR_OTHER, "the other job sent a list of processes that is not complete");
  const std::uint64_t own_job = foreign().name_of(runtime().engine().peers().rank()).job;
  for (const std::string& line : cards_) {
    Member& member = members_.emplace_back();
    member.own_id = static_cast<std::int32_t>(std::strtol(line.c_str(), nullptr, 10)) + local_.rank;
    member.text = text_of(line);
    if (!engine::read_process_card(member.text, member.card))
      return fail(MPI_ERR_OTHER,
                  "the other job sent an address that cannot be read; both must load the same library");
    member.is_rank = member.card.name.job == own_job;
  }
  return true;
}

// A line for each member: for each of the other group, whether its memory is attached.
bool Introduction::attach_memory() noexcept {
  engine::ForeignMemory& memory = foreign().memory();
  std::string mine, all, other, why;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    mine += !member.is_rank && memory.attach(id_of(i), member.card.memory) ? '1' : '0';
  }
  if (!gather_cards(mine, all)) return fail(MPI_ERR_OTHER, "the members could not reach each other");
  if (is_root() && !meeting_.channel->exchange(all, other, why)) other.clear();
  if (!share(other)) return fail(MPI_ERR_OTHER, "the members could not reach each other");
  const std::vector<std::string> theirs = lines_of(other);
  const auto me = static_cast<std::size_t>(local_.rank);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool here = mine[i] == '1';
    const bool there = i < theirs.size() && me < theirs[i].size() && theirs[i][me] == '1';
    members_[i].shares_memory = here && there;
    if (here && !there) memory.forget(id_of(i));
  }
  return true;
}

bool Introduction::add_members() noexcept {
  Outcome mine;
  std::string why;
  for (std::size_t i = 0; i < members_.size() && why.empty(); ++i) {
    const Member& member = members_[i];
    if (member.is_rank) {
      peers_.push_back(member.card.name.rank);
      engine::job_hosts_of(runtime().engine())
          .set(member.card.name.rank, {member.card.name.job, member.card.host, member.card.casts});
    } else if (foreign().add({id_of(i), member.own_id, member.text, terms_.secret, member.shares_memory},
                             why)) {
      peers_.push_back(id_of(i));
    }
  }
  for (const std::int32_t peer : local_.group->peers)
    if (why.empty() && std::find(peers_.begin(), peers_.end(), peer) != peers_.end())
      why = "the two groups have a member in common; they must not";
  mine.good = why.empty() ? 1 : 0;
  set_text(mine.why, why);
  return all_good(mine);
}

// Of both groups.
bool Introduction::all_good(const Outcome& mine) noexcept {
  std::vector<Outcome> all(static_cast<std::size_t>(local_.size));
  if (allgather_bytes(local_, &mine, all.data(), sizeof mine) != MPI_SUCCESS)
    return fail(MPI_ERR_OTHER, "the members could not reach each other");
  const auto bad = std::find_if(all.begin(), all.end(), [](const Outcome& each) { return each.good == 0; });
  const std::string ours = bad == all.end() ? "" : bad->why;
  std::string theirs, why;
  if (is_root() && !meeting_.channel->exchange(ours, theirs, why)) theirs = why;
  if (!share(theirs)) return fail(MPI_ERR_OTHER, "the members could not reach each other");
  if (!ours.empty()) return fail(MPI_ERR_OTHER, ours.c_str());
  return theirs.empty() || fail(MPI_ERR_OTHER, theirs.c_str());
}

Comm* Introduction::run() noexcept {
  if (!agree_terms() || !exchange_cards() || !read_cards() || !attach_memory() || !add_members())
    return nullptr;
  retain(local_.group);
  Comm* const made = make_inter(local_.group, make_group(std::move(peers_), local_.session),
                                terms_.lower != 0, terms_.context, local_.errhandler, local_.session);
  return made;
}

}  // namespace

Comm* introduce(Call& call, Comm& local, int root, const Meeting& meeting) noexcept {
  return Introduction(call, local, root, meeting).run();
}

}  // namespace herald::mpi
