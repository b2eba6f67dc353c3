// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: an item taken out of the middle leaves its neighbours unjoined, or still counts as
// linked; order is lost.
#include "base/list.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <vector>

#include "base/prng.hpp"

namespace herald {
namespace {

struct Item : ListLink {
  explicit Item(int n) : number(n) {}
  int number;
};

std::vector<int> numbers(List<Item>& list) {
  std::vector<int> out;
  for (Item* item = list.front(); item != nullptr; item = list.next(*item)) out.push_back(item->number);
  return out;
}

TEST(List, empty) {
  List<Item> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
  EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(List, keeps_order_at_both_ends) {
  List<Item> list;
  Item a(1), b(2), c(3);
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  EXPECT_EQ(numbers(list), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_FALSE(a.linked());
  EXPECT_TRUE(b.linked());
  EXPECT_EQ(numbers(list), (std::vector<int>{2, 3}));
}

TEST(List, unlink_from_the_middle_and_twice) {
  List<Item> list;
  Item a(1), b(2), c(3);
  for (Item* item : {&a, &b, &c}) list.push_back(*item);
  b.unlink();
  b.unlink();
  EXPECT_FALSE(b.linked());
  EXPECT_EQ(numbers(list), (std::vector<int>{1, 3}));
  a.unlink();
  c.unlink();
  EXPECT_TRUE(list.empty());
}

TEST(List, agrees_with_a_standard_list) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Prng prng(seed);
    List<Item> list;
    std::list<int> model;
    std::deque<Item> items;
    for (int n = 0; n < 40; ++n) items.emplace_back(n);
    for (int step = 0; step < 400; ++step) {
      Item& item = items[prng.below(items.size())];
      if (item.linked()) {
        item.unlink();
        model.remove(item.number);
      } else if (prng.below(2) == 0) {
        list.push_back(item);
        model.push_back(item.number);
      } else {
        list.push_front(item);
        model.push_front(item.number);
      }
      ASSERT_EQ(numbers(list), std::vector<int>(model.begin(), model.end()))
          << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace herald
