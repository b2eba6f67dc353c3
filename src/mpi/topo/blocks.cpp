// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topo/blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

namespace herald::mpi {
namespace {

std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

// Tries all boxes of `cells` cells whose extents divide those of the grid.
class BoxSearch {
 public:
  BoxSearch(const Grid& grid, int cells) noexcept : grid_(grid), size_(grid.size()), box_(grid.dims.size()) {
    descend(0, cells, 0);
  }
  const std::vector<int>& best() const noexcept { return best_; }

 private:
  void descend(std::size_t dim, int cells, std::int64_t cut) noexcept {
    if (cut >= least_) return;
    if (dim == box_.size()) {
      if (cells != 1) return;
      least_ = cut;
      best_ = box_;
      return;
    }
    const int extent = grid_.dims[dim];
    for (int side = 1; side <= std::min(extent, cells); ++side) {
      if (extent % side != 0 || cells % side != 0) continue;
      box_[dim] = side;
      const int boxes = extent / side, borders = boxes == 1 ? 0 : boxes - (grid_.periodic[dim] != 0 ? 0 : 1);
      descend(dim + 1, cells / side, cut + std::int64_t{borders} * (size_ / extent));
    }
  }

  const Grid& grid_;
  const int size_;
  std::vector<int> box_, best_;
  std::int64_t least_ = INT64_MAX;
};

class Bisection {
 public:
  Bisection(const Grid& grid, const Graph& graph, const coll::Cluster& cluster) noexcept
      : graph_(graph), cluster_(cluster), owners_(at(grid.size()), 0), side_(at(grid.size()), kOutside) {
    std::vector<int> cells(at(grid.size()));
    std::iota(cells.begin(), cells.end(), 0);
    int stride = grid.size();
    for (const int extent : grid.dims) {
      const int outer = stride;
      stride /= extent;
      if (extent > 1) axes_.push_back({outer, stride});
    }
    split(cells, 0, cluster.hosts());
  }
  std::vector<int> take_owners() noexcept { return std::move(owners_); }

 private:
  static constexpr signed char kOutside = -1;
  struct Axis {
    int outer, stride;
    int coord(int cell) const noexcept { return cell % outer / stride; }
  };

  // Cells in the order of one coordinate, then of their ranks.
  static void sort_along(const Axis& axis, std::span<int> cells) noexcept {
    std::sort(cells.begin(), cells.end(), [&](int a, int b) {
      const int x = axis.coord(a), y = axis.coord(b);
      return x != y ? x < y : a < b;
    });
  }
  // Edges between the first cells and the rest of them.
  std::int64_t cut(std::span<const int> cells, std::size_t first) noexcept {
    for (std::size_t i = 0; i < cells.size(); ++i) side_[at(cells[i])] = i < first ? 0 : 1;
    std::int64_t edges = 0;
    for (const int cell : cells)
      for (std::size_t e = graph_.begin(cell); e < graph_.end(cell); ++e) {
        const signed char other = side_[at(graph_.to[e])];
        if (other != kOutside && other != side_[at(cell)]) ++edges;
      }
    for (const int cell : cells) side_[at(cell)] = kOutside;
    return edges;
  }
  void split(std::span<int> cells, int begin, int end) noexcept {
    if (end - begin == 1) {
      for (const int cell : cells) owners_[at(cell)] = begin;
      return;
    }
    const int middle = (begin + end) / 2;
    const auto first = at(cluster_.before(middle) - cluster_.before(begin));
    const Axis* best = nullptr;
    std::int64_t least = INT64_MAX;
    for (const Axis& axis : axes_) {
      sort_along(axis, cells);
      if (const std::int64_t edges = cut(cells, first); edges < least) {
        least = edges;
        best = &axis;
      }
    }
    if (best != nullptr) sort_along(*best, cells);
    split(cells.first(first), begin, middle);
    split(cells.subspan(first), middle, end);
  }

  const Graph& graph_;
  const coll::Cluster& cluster_;
  std::vector<Axis> axes_;
  std::vector<int> owners_;
  std::vector<signed char> side_;
};

}  // namespace

std::vector<int> equal_blocks(const Grid& grid, const coll::Cluster& cluster) noexcept {
  if (!cluster.equal()) return {};
  const std::vector<int> box = BoxSearch(grid, cluster.largest()).best();
  if (box.empty()) return {};
  Grid boxes = grid;
  for (std::size_t i = 0; i < box.size(); ++i) boxes.dims[i] /= box[i];
  std::vector<int> owners;
  for (int cell = 0; cell < grid.size(); ++cell) {
    std::vector<int> coords = grid.coords_of(cell);
    for (std::size_t i = 0; i < box.size(); ++i) coords[i] /= box[i];
    owners.push_back(boxes.rank_of(coords));
  }
  return owners;
}

std::vector<int> bisected(const Grid& grid, const Graph& graph, const coll::Cluster& cluster) noexcept {
  return Bisection(grid, graph, cluster).take_owners();
}

}  // namespace herald::mpi
