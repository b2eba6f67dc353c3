// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "coll/block_list.hpp"
#include "type/pack.hpp"

namespace herald::coll {
namespace {

struct Flight {  // a send in flight
  StepId step = kNone;
  bool gone = false;  // its data was read and it is complete
  bool cast = false;
  std::vector<std::byte> data;
};
struct Posted {  // a receive in flight
  StepId step = kNone;
};
struct SharedPost {
  StepId step = kNone;
  std::vector<std::byte> data;  // if copied
};
using Channel = std::tuple<int, int, int>;  // from, to, tag

class Job {
 public:
  Job(const Algorithm& algorithm, std::vector<Member>& members, Reduction reduction, Prng& prng)
      : reduction_(reduction), prng_(prng), ranks_(members.size()) {
    const bool oversubscribed = prng.below(2) != 0, in_order = prng.below(2) != 0, fast = prng.below(2) != 0;
    const std::uint64_t segment_bytes = 100 * prng.below(3);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      CollSpec spec = members[r].spec;
      spec.in_order = in_order;
      spec.fast = spec.fast || fast;
      spec.segment_bytes = segment_bytes;
      if (spec.cluster == nullptr) {
        spec.shared_bytes = kSharedBytes;
        spec.streams = true;
        spec.oversubscribed = oversubscribed;
      } else {
        cluster_ = spec.cluster;
      }
      rank.plan = spec.sides != nullptr ? make_plan_between(spec) : make_plan(algorithm, spec);
      rank.words.resize(Run::words(rank.plan) + 1);
      rank.scratch.assign(rank.plan.scratch_bytes + 64, kPattern);
      auto base = reinterpret_cast<std::uintptr_t>(rank.scratch.data());
      rank.places.at[0] = members[r].send.address();
      rank.places.at[1] = members[r].recv.address();
      rank.places.at[2] = (base + 63) / 64 * 64;
      rank.busy.assign(rank.plan.slots, false);
      rank.run.begin(rank.plan, rank.words.data());
    }
  }

  bool run(std::string& why) {
    for (;;) {
      if (!why_.empty()) return why = why_, false;
      bool all = true;
      for (Rank& rank : ranks_) all = all && rank.run.done();
      if (all) break;
      if (!turn()) return why = "nothing can go on", false;
    }
    for (auto& [channel, sends] : sends_)
      if (!sends.empty()) return why = "a message was never received", false;
    return true;
  }

 private:
  struct Rank {
    Plan plan;
    Run run;
    Places places;
    std::vector<std::uint32_t> words;
    std::vector<std::byte> scratch;
    std::vector<bool> busy;       // slots
    std::vector<StepId> waiting;  // shared-memory steps that cannot run yet
    SharedPost posts[2][kPosts];  // by part
  };
  using Host = std::array<std::array<std::size_t, kBarrierWords>, 2>;  // the ranks that arrived, by part

  // Runs one event, chosen at random among the possible ones.
  bool turn() {
    const std::size_t n = ranks_.size(), first = prng_.below(n);
    for (std::size_t i = 0; i < n; ++i)
      if (prng_.below(4) != 0 && advance((first + i) % n)) return true;
    if (prng_.below(2) == 0 && deliver()) return true;
    for (int attempts = 0; attempts < 200; ++attempts) {  // a waiting step is not tried every time
      for (std::size_t i = 0; i < n; ++i)
        if (advance((first + i) % n)) return true;
      if (deliver()) return true;
    }
    return false;
  }

  bool advance(std::size_t r) {
    Rank& rank = ranks_[r];
    if (!rank.waiting.empty() && prng_.below(2) == 0) {
      const std::size_t i = prng_.below(rank.waiting.size());
      const StepId id = rank.waiting[i];
      if (attempt(r, rank.plan.steps[id], id)) {
        rank.waiting.erase(rank.waiting.begin() + static_cast<std::ptrdiff_t>(i));
        rank.run.complete(id);
        return true;
      }
    }
    const StepId id = rank.run.next();
    if (id == kNone) return false;
    const Step& step = rank.plan.steps[id];
    switch (step.kind) {
      case StepKind::cast: cast(r, id); break;
      case StepKind::send:
      case StepKind::recv: {
        if (rank.busy[step.slot]) why_ = "a slot was used twice at once";
        rank.busy[step.slot] = true;
        const int me = static_cast<int>(r);
        if (step.kind == StepKind::send)
          send(rank, me, id);
        else
          recvs_[{step.partner, me, step.tag}].push_back({id});
        return true;
      }
      case StepKind::announce:
        if (announced_) why_ = "announced twice";
        announced_ = packed(rank, step.a);
        break;
      case StepKind::contribute:
        if (!contributions_.try_emplace(place_on_lane(r), packed(rank, step.a)).second)
          why_ = "reported twice";
        rank.waiting.push_back(id);
        return true;
      case StepKind::gather: rank.waiting.push_back(id); return true;
      case StepKind::copy: {
        const bool lists = step.a.block != kNoBlock || step.b.block != kNoBlock;
        if (!copy_block(step.a, step.b, rank.places)) why_ = "a block does not fit, or its list is damaged";
        if (!lists && step.a.bytes != step.b.bytes) why_ = "a copy between pieces of unequal size";
        break;
      }
      case StepKind::reduce: reduce(rank, step); break;
      case StepKind::check: why_ = "a check in a plan made without one"; break;
      case StepKind::post:
      case StepKind::fetch:
      case StepKind::put:
      case StepKind::arrive:
      case StepKind::wait_arrived:
      case StepKind::combine:
      case StepKind::stream_write:
      case StepKind::stream_read:
      case StepKind::stream_reduce:
        if (prng_.below(2) != 0 && attempt(r, step, id)) break;
        rank.waiting.push_back(id);
        return true;
    }
    rank.run.complete(id);
    return true;
  }

  // A shared-memory step. Posted data that was not copied is read when it is fetched.
  bool attempt(std::size_t r, const Step& step, StepId id) {
    Rank& rank = ranks_[r];
    const auto number = static_cast<std::size_t>(step.tag);
    const std::size_t part = step.second ? 1 : 0;
    const int host = cluster_ == nullptr ? 0 : cluster_->host_of(static_cast<int>(r));
    if (step.kind == StepKind::contribute) return hear(rank, step);
    if (step.kind == StepKind::gather) return gather(rank, step);
    std::size_t& arrived = arrived_[host][part][number];
    if (step.kind == StepKind::wait_arrived)
      return arrived == (cluster_ == nullptr ? ranks_.size() : cluster_->on_host(host).size());
    if (step.kind == StepKind::arrive) return ++arrived, true;
    if (step.kind == StepKind::combine) return ++arrived < ranks_.size() || combine(step);
    if (step.kind == StepKind::post || step.kind == StepKind::stream_write) {
      SharedPost& post = rank.posts[part][number];
      if (post.step != kNone) why_ = "a post was made twice";
      post.step = id;
      if (step.copied || step.kind == StepKind::stream_write) post.data = packed(rank, step.a);
      if (step.copied && post.data.size() > kSharedBytes) why_ = "a copied post is too long";
      if (step.kind == StepKind::post && !step.copied && step.a.layout != nullptr)
        why_ = "a post by address is not one run";
      return true;
    }
    if (step.kind == StepKind::stream_reduce) return stream_reduce(r, step, id);
    const auto partner = static_cast<std::size_t>(step.partner);
    Rank& from =
        ranks_[cluster_ == nullptr ? partner : static_cast<std::size_t>(cluster_->on_host(host)[partner])];
    const SharedPost& post = from.posts[part][number];
    if (post.step == kNone) return false;
    const Step& posted = from.plan.steps[post.step];
    if (step.kind == StepKind::put) return put(rank, step, from, posted);
    const bool cached =
        posted.copied || posted.kind == StepKind::stream_write || posted.kind == StepKind::stream_reduce;
    if (cached && !posted.copied && posted.partner != kAllRanks && posted.partner != static_cast<int>(r))
      why_ = "drawn by another rank than stream_written for";
    if (!cached && step.a.bytes != 0 && from.run.done()) why_ = "read from a rank that is done";
    std::vector<std::byte> data = cached ? post.data : packed(from, posted.a);
    if (step.b.first + step.a.bytes > data.size()) return why_ = "more is fetched than posted", true;
    if (step.whole && step.a.bytes != 0 && step.a.bytes != data.size())
      why_ = "a part is fetched as if whole";
    cursor(step.a, rank.places).unpack(data.data() + step.b.first, step.a.bytes);
    return true;
  }

  bool put(const Rank& rank, const Step& step, const Rank& to, const Step& posted) {
    if (posted.kind != StepKind::post || posted.copied) why_ = "put where nothing was posted by address";
    if (posted.a.bytes != step.a.bytes) return why_ = "put into room of another size", true;
    if (to.run.done()) why_ = "written to a rank that is done";
    const std::vector<std::byte> data = packed(rank, step.a);
    cursor(posted.a, to.places).unpack(data.data(), data.size());
    return true;
  }

  bool combine(const Step& step) {
    SharedPost& last = ranks_.back().posts[0][0];
    for (std::size_t r = ranks_.size() - 1; r-- > 0;) {
      const SharedPost& post = ranks_[r].posts[0][0];
      if (post.data.size() != step.a.bytes || last.data.size() != step.a.bytes)
        return why_ = "combined without equal posts", true;
      for (std::size_t at = 0; at < post.data.size(); at += sizeof(Item)) {
        Item& sum = reinterpret_cast<Item&>(last.data[at]);
        sum = reduction_(reinterpret_cast<const Item&>(post.data[at]), sum);
      }
    }
    arrived_[0][0][step.tag + 1] = ranks_.size();
    return true;
  }

  // Runs at once when all ranks have written.
  bool stream_reduce(std::size_t r, const Step& step, StepId id) {
    for (std::size_t other = 0; other < ranks_.size(); ++other)
      if (other != r && ranks_[other].posts[0][0].step == kNone) return false;
    const type::Layout& layout = *step.a.layout;
    const auto size = static_cast<std::size_t>(layout.size());
    std::vector<std::byte> sum(step.a.bytes);
    const std::vector<std::byte> own = packed(ranks_[r], step.a);
    for (std::size_t other = ranks_.size(); other-- > 0;) {
      const std::vector<std::byte>& operand = other == r ? own : ranks_[other].posts[0][0].data;
      if (operand.size() != sum.size()) return why_ = "operands of unequal size", true;
      for (std::size_t at = 0; at < sum.size(); at += size) {
        Item left, right;
        std::memcpy(&left, operand.data() + at, size);
        std::memcpy(&right, sum.data() + at, size);
        const Item both = other + 1 == ranks_.size() ? left : reduction_(left, right);
        std::memcpy(sum.data() + at, &both, size);
      }
    }
    cursor(step.b, ranks_[r].places).unpack(sum.data(), sum.size());
    ranks_[r].posts[0][0].step = id;
    ranks_[r].posts[0][0].data = sum;
    return true;
  }

  void cast(std::size_t r, StepId id) {
    const Rank& rank = ranks_[r];
    const Step& step = rank.plan.steps[id];
    if (rank.busy[step.slot]) why_ = "a slot was used twice at once";
    const std::vector<std::byte> bytes = packed(rank, step.a);
    const auto hears = [&](int other) {
      return other != static_cast<int>(r) && (cluster_ == nullptr || cluster_->place_of(other) == 0);
    };
    if (cluster_ != nullptr && cluster_->place_of(static_cast<int>(r)) != 0) why_ = "no leader, and casts";
    for (int other = 0; other < static_cast<int>(ranks_.size()); ++other) {
      if (!hears(other)) continue;
      Flight& flight = sends_[{static_cast<int>(r), other, step.tag}].emplace_back();
      flight.step = id;
      flight.gone = flight.cast = true;
      flight.data = bytes;
    }
  }

  // A fused exchange: leaders are its members, in their order; the root gathers.
  std::size_t place_on_lane(std::size_t r) {
    if (cluster_ == nullptr) return r;
    if (cluster_->place_of(static_cast<int>(r)) != 0) why_ = "a rank that is no leader contributes";
    return static_cast<std::size_t>(cluster_->host_of(static_cast<int>(r)));
  }
  bool hear(Rank& rank, const Step& step) {
    if (!announced_) return false;
    type::Cursor to = cursor(step.b, rank.places);
    if (to.total() != announced_->size()) why_ = "the announced result and its buffer differ in size";
    to.unpack(announced_->data(), announced_->size());
    return true;
  }
  bool gather(Rank& rank, const Step& step) {
    const std::size_t members = cluster_ == nullptr ? ranks_.size() : cluster_->leaders().size();
    if (static_cast<std::size_t>(step.partner) != members) why_ = "a fused of others than the lane's members";
    if (contributions_.size() + 1 != members) return false;
    type::Cursor to = cursor(step.a, rank.places);
    const std::uint64_t each = to.total() / members;
    for (const auto& [place, part] : contributions_) {
      if (place == 0 || part.size() != each) why_ = "a part that does not fit";
      to.seek(each * place);
      to.unpack(part.data(), part.size());
    }
    return true;
  }

  static std::vector<std::byte> packed(const Rank& rank, const Piece& piece) {
    type::Cursor data = cursor(piece, rank.places);
    std::vector<std::byte> bytes(data.total());
    data.pack(bytes.data(), bytes.size());
    return bytes;
  }

  // Data is read when it is sent or when it is received: either may happen.
  void send(Rank& rank, int me, StepId id) {
    const Step& step = rank.plan.steps[id];
    Flight& flight = sends_[{me, step.partner, step.tag}].emplace_back();
    flight.step = id;
    if (prng_.below(2) != 0) return;
    type::Cursor data = cursor(step.a, rank.places);
    flight.gone = true;
    flight.data.resize(data.total());
    data.pack(flight.data.data(), flight.data.size());
    rank.busy[step.slot] = false;
    rank.run.complete(id);
  }

  void reduce(Rank& rank, const Step& step) {
    const type::Layout& layout = *step.a.layout;
    for (std::int64_t i = 0; i < step.a.count; ++i) {
      auto* left = static_cast<std::byte*>(rank.places.of(step.a)) + i * layout.extent();
      auto* inout = static_cast<std::byte*>(rank.places.of(step.b)) + i * layout.extent();
      Item a, b;
      type::pack(layout, left, 1, &a);
      type::pack(layout, inout, 1, &b);
      const Item c = reduction_(a, b);
      type::unpack(layout, inout, 1, &c);
    }
  }

  bool deliver() {
    std::vector<Channel> ready;
    for (auto it = sends_.begin(); it != sends_.end();) {
      if (it->second.empty()) {
        it = sends_.erase(it);
        continue;
      }
      const auto posted = recvs_.find(it->first);
      if (posted != recvs_.end() && !posted->second.empty()) ready.push_back(it->first);
      ++it;
    }
    if (ready.empty()) return false;
    const Channel channel = ready[prng_.below(ready.size())];
    // Casts and other messages take different paths and may overtake each other.
    std::deque<Flight>& queue = sends_[channel];
    auto first = queue.begin();
    if (prng_.below(2) == 0)
      first = std::find_if(queue.begin(), queue.end(),
                           [&](const Flight& other) { return other.cast != queue.front().cast; });
    if (first == queue.end()) first = queue.begin();
    Flight flight = std::move(*first);
    const Posted posted = recvs_[channel].front();
    queue.erase(first);
    recvs_[channel].pop_front();
    Rank& from = ranks_[static_cast<std::size_t>(std::get<0>(channel))];
    Rank& to = ranks_[static_cast<std::size_t>(std::get<1>(channel))];
    const Step &sent = from.plan.steps[flight.step], &got = to.plan.steps[posted.step];
    type::Cursor source = flight.gone ? type::Cursor::bytes(flight.data.data(), flight.data.size())
                                      : cursor(sent.a, from.places);
    type::Cursor sink = cursor(got.a, to.places);
    const bool shorter = sent.a.block == kFilledPart && source.total() <= sink.total();
    if (source.total() != sink.total() && !shorter) why_ = "a message and its receive are of unequal size";
    type::copy(source, sink);
    to.busy[got.slot] = false;
    if (!flight.gone) {
      from.busy[sent.slot] = false;
      from.run.complete(flight.step);
    }
    to.run.complete(posted.step);
    return true;
  }

  Reduction reduction_;
  Prng& prng_;
  std::vector<Rank> ranks_;
  const Cluster* cluster_ = nullptr;
  std::map<int, Host> arrived_;                                  // by host
  std::map<std::size_t, std::vector<std::byte>> contributions_;  // by place on the lane
  std::optional<std::vector<std::byte>> announced_;
  std::map<Channel, std::deque<Flight>> sends_;
  std::map<Channel, std::deque<Posted>> recvs_;
  std::string why_;
};

}  // namespace

bool run_job(const Algorithm& algorithm, std::vector<Member>& members, Reduction reduction, Prng& prng,
             std::string& why) {
  return Job(algorithm, members, reduction, prng).run(why);
}

}  // namespace herald::coll
