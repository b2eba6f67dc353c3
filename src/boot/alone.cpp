// SPDX-License-Identifier: BSD-3-Clause
// boot/alone.cpp: a singleton: no launcher, a world of one process.
#include <map>

#include "boot/pmi1_text.hpp"
#include "boot/spawned_mpiexec.hpp"
#include "boot/ways.hpp"

namespace herald::boot {

namespace {

class Alone final : public Boot {
 public:
  const char* name() const noexcept override { return "alone"; }
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  int app_number() const noexcept override { return -1; }
  int universe_size() const noexcept override { return -1; }
  std::span<const int> local_ranks() const noexcept override { return {&kMe, 1}; }

  Status put(std::string_view key, std::string_view value) override {
    waiting_.insert_or_assign(std::string{key}, std::string{value});
    return Status::ok;
  }

  Status fence() override {
    for (auto& [key, value] : waiting_) visible_.insert_or_assign(key, std::move(value));
    waiting_.clear();
    return Status::ok;
  }

  Status get(int rank, std::string_view key, std::string& value) override {
    auto found = rank == 0 ? visible_.find(key) : visible_.end();
    if (found == visible_.end()) {
      error_ = "rank " + std::to_string(rank) + " has put no value under the key " + std::string{key};
      return Status::not_found;
    }
    value = found->second;
    return Status::ok;
  }

  void abort(const Abort&) noexcept override {}
  Status finalize() override { return Status::ok; }
  const std::string& last_error() const noexcept override { return error_; }
  Status refuse(Status status, std::string why) override {
    error_ = std::move(why);
    return status;
  }
  Status spawn(std::span<const SpawnApp> apps, std::string_view port) override {
    std::string text;
    for (std::size_t i = 0; i < apps.size(); ++i)
      text += spawn_text(apps[i], i + 1, apps.size(), port) + "\n";
    return mpiexec_.start(text, error_) ? Status::ok : Status::not_found;
  }
  bool has_spawn_ended() override { return mpiexec_.has_ended(error_); }

 private:
  using Values = std::map<std::string, std::string, std::less<>>;
  static constexpr int kMe = 0;
  Values waiting_, visible_;
  std::string error_;
  SpawnedMpiexec mpiexec_;
};

}  // namespace

std::unique_ptr<Boot> open_alone() { return std::make_unique<Alone>(); }

}  // namespace herald::boot
