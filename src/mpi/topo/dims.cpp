// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topo/dims.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>

namespace herald::mpi {
namespace {

// Bounded by INT64_MAX.
std::int64_t power(std::int64_t base, int exponent) noexcept {
  std::int64_t result = 1;
  for (int i = 0; i < exponent && base > 1; ++i)
    if (__builtin_mul_overflow(result, base, &result)) return INT64_MAX;
  return result;
}

// The smallest r with r^k >= n.
int root_up(std::int64_t n, int k) noexcept {
  auto r = static_cast<std::int64_t>(std::pow(static_cast<double>(n), 1.0 / k));
  while (r > 1 && power(r - 1, k) >= n) --r;
  while (power(r, k) < n) ++r;
  return static_cast<int>(r);
}

std::vector<int> prime_factors(int n) noexcept {
  std::vector<int> primes;
  for (std::int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= static_cast<int>(p)) primes.push_back(static_cast<int>(p));
  if (n > 1) primes.push_back(n);
  return primes;
}

std::vector<int> divisors_of(const std::vector<int>& primes) noexcept {
  std::vector<int> divisors = {1};
  for (std::size_t i = 0; i < primes.size();) {
    const std::size_t known = divisors.size();
    int multiple = 1;
    for (const int p = primes[i]; i < primes.size() && primes[i] == p; ++i) {
      multiple *= p;
      for (std::size_t k = 0; k < known; ++k) divisors.push_back(divisors[k] * multiple);
    }
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

// The smallest difference between the factors; then the largest smallest one; then the smallest sum.
// Branch and bound over factors in descending order. Each level tries small factors first, because they
// leave the most balanced rest, so that the first leaf is close to the best.
class Search {
 public:
  Search(int n, int count, const std::vector<int>& divisors) noexcept : divisors_(divisors) {
    chosen_.reserve(static_cast<std::size_t>(count));
    descend(n, count, INT_MAX, 0);
  }
  const std::vector<int>& best() const noexcept { return best_; }

 private:
  void descend(int rest, int left, int cap, std::int64_t sum) noexcept {
    if (left == 1) return finish(rest, cap, sum);
    auto next = std::lower_bound(divisors_.begin(), divisors_.end(), root_up(rest, left));
    for (; next != divisors_.end() && *next <= std::min(cap, rest); ++next) {
      if (rest % *next != 0) continue;
      // The smallest of the factors that follow is at most the root of what is left for them.
      const std::int64_t largest = chosen_.empty() ? *next : chosen_.front();
      if (power(largest - best_difference_, left - 1) > rest / *next) break;
      chosen_.push_back(*next);
      descend(rest / *next, left - 1, *next, sum + *next);
      chosen_.pop_back();
    }
  }
  void finish(int last, int cap, std::int64_t sum) noexcept {
    const int difference = (chosen_.empty() ? last : chosen_.front()) - last;
    if (last > cap || difference > best_difference_) return;
    chosen_.push_back(last);
    if (difference < best_difference_ || is_better(sum + last)) {
      best_ = chosen_;
      best_difference_ = difference;
      best_sum_ = sum + last;
    }
    chosen_.pop_back();
  }
  // Of two with the same difference.
  bool is_better(std::int64_t sum) const noexcept {
    if (chosen_.back() != best_.back()) return chosen_.back() > best_.back();
    return sum != best_sum_ ? sum < best_sum_ : chosen_ > best_;
  }

  const std::vector<int>& divisors_;
  std::vector<int> chosen_, best_;
  int best_difference_ = INT_MAX;
  std::int64_t best_sum_ = INT64_MAX;
};

}  // namespace

std::vector<int> balanced_factors(int n, int count) noexcept {
  std::vector<int> factors = prime_factors(n);
  const auto wanted = static_cast<std::size_t>(count);
  if (factors.size() > wanted && count > 0) {
    factors = Search(n, count, divisors_of(factors)).best();
  } else {
    std::reverse(factors.begin(), factors.end());
    factors.resize(wanted, 1);
  }
  return factors;
}

}  // namespace herald::mpi
