// SPDX-License-Identifier: BSD-3-Clause
// sim/job/collective_data.hpp: the buffers of one collective at one process: data that follow from a seed,
// and the result that the definition of the operation asks for.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "coll/table.hpp"
#include "sim/job/script.hpp"

namespace herald::sim {

class CollectiveData {
 public:
  // `place`: among the members of the collective's lane.
  CollectiveData(const Script& script, std::uint32_t index, std::int32_t place, std::uint64_t seed);
  CollectiveData(const CollectiveData&) = delete;
  CollectiveData& operator=(const CollectiveData&) = delete;

  // The arguments of the collective; valid as long as this is. Called once.
  coll::CollSpec coll_spec();
  std::uint32_t* send() noexcept { return send_.data(); }
  std::uint32_t* recv() noexcept { return recv_.data(); }
  // The first error in the result; empty: none.
  std::string judge() const;

 private:
  void make_buffers();
  void by_type(coll::CollSpec& ask);
  std::uint32_t item(std::int32_t from, std::uint64_t i) const noexcept;
  std::uint32_t wanted(std::uint64_t i) const noexcept;
  std::int64_t part(std::int32_t place) const noexcept;
  std::int64_t parts_before(std::int32_t place) const noexcept;
  std::int64_t parts() const noexcept {
    return parts_before(static_cast<std::int32_t>(lane_.members.size()));
  }

  const CollSpec& spec_;
  const LaneSpec& lane_;
  const std::uint32_t index_;
  const std::int32_t place_;
  const std::uint64_t seed_;
  std::vector<std::uint32_t> send_, recv_;
  std::vector<std::int64_t> send_counts_, send_places_, recv_counts_, recv_places_;
  std::vector<const type::Layout*> layouts_;
};

}  // namespace herald::sim
