// SPDX-License-Identifier: BSD-3-Clause
// The layouts of the predefined kinds: made on first use, never freed (a static table points to them,
// so they are no leak).
#include <array>

#include "base/fatal.hpp"
#include "type/build.hpp"
#include "type/maker.hpp"

namespace herald::type {
namespace {

struct Table {
  std::array<const Layout*, kBasics> layouts{};

  Table() noexcept {
    for (const BasicRow& row : basic_rows()) {
      LayoutRef layout;
      const Status status =
          row.klass == Class::pair ? make_pair(row, layout) : LayoutMaker::single(row.basic, layout);
      HERALD_ASSERT(status == Status::ok);
      layouts[static_cast<std::size_t>(row.basic)] = LayoutMaker::keep(layout, row.basic);
      layout.leak();
    }
  }

  Status make_pair(const BasicRow& row, LayoutRef& out) const noexcept {
    const BasicRow& index = row_of(row.index);
    const std::int64_t index_at = (row_of(row.value).size + index.align - 1) / index.align * index.align;
    const std::int64_t blocks[] = {1, 1};
    const std::int64_t displacements[] = {0, index_at};
    // Pairs come after all singles in the table, so both are made already.
    const Layout* const items[] = {layouts[static_cast<std::size_t>(row.value)],
                                   layouts[static_cast<std::size_t>(row.index)]};
    return structure(blocks, displacements, items, out);
  }
};

}  // namespace

const Layout& basic_layout(Basic basic) noexcept {
  static const Table table;
  return *table.layouts[static_cast<std::size_t>(basic)];
}

}  // namespace herald::type
