// SPDX-License-Identifier: BSD-3-Clause
// tools/measure/bench.cpp: measurements between ranks.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>

#include "measure.hpp"

namespace herald::measure {
namespace {

constexpr int kMostBytes = 4 << 20;
constexpr int kTag = 1, kAnswerTag = 2;

// A computation whose time does not depend on memory.
double control_computation(int rounds) {
  volatile double value = 1;
  const double begin = now_ns();
  for (int i = 0; i < rounds; ++i) value = value * 1.0000001 + 0.5;
  return now_ns() - begin;
}

double processor_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

void wait_until(double ns) {
  while (now_ns() < ns) {
  }
}

}  // namespace

double now_ns() {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count());
}

Bench::Bench(MPI_Comm comm) : comm_(comm), buffer_(kMostBytes, 1) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

template <class Body>
model::Point Bench::repeat(double bytes, int runs, Body body) {
  std::vector<double> times;
  constexpr int kWarmUp = 2;
  for (int i = 0; i < runs + kWarmUp; ++i) {
    MPI_Barrier(comm_);
    const double ns = body();
    if (i >= kWarmUp) times.push_back(ns);
  }
  return model::point_of(bytes, times);
}

// Ranks 2k and 2k+1 exchange; the time of the first pair counts.
std::vector<model::Point> Bench::round_trips(const std::vector<int>& sizes, int pairs, double pause_ns) {
  std::vector<model::Point> points;
  const bool takes_part = rank_ < 2 * pairs && (rank_ ^ 1) < size_;
  for (const int bytes : sizes) {
    const int trips = pause_ns > 0 || bytes >= 65536 ? 1 : 8;
    points.push_back(repeat(bytes, bytes >= 1 << 18 ? 9 : 25, [&] {
      const double begin = now_ns();
      double waited = 0;
      for (int i = 0; takes_part && i < trips; ++i) {
        if (rank_ % 2 == 0) {
          const double pause = now_ns();
          if (pause_ns > 0) wait_until(pause + pause_ns);
          waited += now_ns() - pause;
          MPI_Send(buffer_.data(), bytes, MPI_CHAR, rank_ + 1, kTag, comm_);
          MPI_Recv(buffer_.data(), bytes, MPI_CHAR, rank_ + 1, kTag, comm_, MPI_STATUS_IGNORE);
        } else {
          MPI_Recv(buffer_.data(), bytes, MPI_CHAR, rank_ - 1, kTag, comm_, MPI_STATUS_IGNORE);
          MPI_Send(buffer_.data(), bytes, MPI_CHAR, rank_ - 1, kTag, comm_);
        }
      }
      return (now_ns() - begin - waited) / trips;
    }));
  }
  return points;
}

std::vector<model::Point> Bench::send_times(const std::vector<int>& sizes) {
  std::vector<model::Point> points;
  for (const int bytes : sizes)
    points.push_back(repeat(bytes, 25, [&] {
      double ns = 0;
      if (rank_ == 0) {
        const double begin = processor_ns();  // a send that waits for the link does not work
        MPI_Send(buffer_.data(), bytes, MPI_CHAR, 1, kTag, comm_);
        ns = processor_ns() - begin;
        MPI_Recv(nullptr, 0, MPI_CHAR, 1, kAnswerTag, comm_, MPI_STATUS_IGNORE);
      } else if (rank_ == 1) {
        MPI_Recv(buffer_.data(), bytes, MPI_CHAR, 0, kTag, comm_, MPI_STATUS_IGNORE);
        MPI_Send(nullptr, 0, MPI_CHAR, 0, kAnswerTag, comm_);
      }
      return ns;
    }));
  return points;
}

// A second message tells that the first has arrived: its receive then takes U_r.
std::vector<model::Point> Bench::receive_times(const std::vector<int>& sizes) {
  std::vector<model::Point> points;
  for (const int bytes : sizes)
    points.push_back(repeat(bytes, 25, [&] {
      double ns = 0;
      if (rank_ == 1) {
        MPI_Send(buffer_.data(), bytes, MPI_CHAR, 0, kTag, comm_);
        MPI_Send(nullptr, 0, MPI_CHAR, 0, kAnswerTag, comm_);
      } else if (rank_ == 0) {
        MPI_Recv(nullptr, 0, MPI_CHAR, 1, kAnswerTag, comm_, MPI_STATUS_IGNORE);
        const double begin = now_ns();
        MPI_Recv(buffer_.data(), bytes, MPI_CHAR, 1, kTag, comm_, MPI_STATUS_IGNORE);
        ns = now_ns() - begin;
      }
      return ns;
    }));
  return points;
}

// Rank 0 computes while messages arrive; what the computation takes longer is the kernel's share.
std::vector<model::Point> Bench::slowdowns(const std::vector<int>& sizes) {
  constexpr int kRounds = 500'000, kMessages = 8, kRuns = 15;
  std::vector<model::Point> points;
  for (const int bytes : sizes) {
    double alone = 1e18, loaded = 1e18;  // the best of all runs: others only had more to wait for
    for (int run = 0; run < kRuns; ++run) {
      MPI_Barrier(comm_);
      if (rank_ == 0) {
        alone = std::min(alone, control_computation(kRounds));
        MPI_Send(nullptr, 0, MPI_CHAR, 1, kAnswerTag, comm_);
        loaded = std::min(loaded, control_computation(kRounds));
        for (int i = 0; i < kMessages; ++i)
          MPI_Recv(buffer_.data(), bytes, MPI_CHAR, 1, kTag, comm_, MPI_STATUS_IGNORE);
      } else if (rank_ == 1) {
        MPI_Recv(nullptr, 0, MPI_CHAR, 0, kAnswerTag, comm_, MPI_STATUS_IGNORE);
        for (int i = 0; i < kMessages; ++i) MPI_Send(buffer_.data(), bytes, MPI_CHAR, 0, kTag, comm_);
      }
    }
    const double ns = std::max(0.0, loaded - alone) / kMessages;
    points.push_back({static_cast<double>(bytes), ns, ns / 2});
  }
  return points;
}

std::vector<model::Point> Bench::gaps(const std::vector<int>& sizes, int senders, bool both) {
  std::vector<model::Point> points;
  for (const int bytes : sizes) {
    const int each = std::clamp((2 << 20) / std::max(bytes, 1) / senders, 4, 200);
    points.push_back(repeat(bytes, 7, [&] {
      std::vector<MPI_Request> requests;
      const double begin = now_ns();
      const auto post = [&](bool send, int partner) {
        requests.emplace_back();
        if (send)
          MPI_Isend(buffer_.data(), bytes, MPI_CHAR, partner, kTag, comm_, &requests.back());
        else
          MPI_Irecv(buffer_.data(), bytes, MPI_CHAR, partner, kTag, comm_, &requests.back());
      };
      for (int i = 0; i < each; ++i) {
        if (rank_ == 0)
          for (int from = 1; from <= senders; ++from) post(false, from);
        if (rank_ == 0 && both) post(true, 1);
        if (rank_ == 1 && both) post(false, 0);
        if (rank_ > 0 && rank_ <= senders) post(true, 0);
      }
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      return (now_ns() - begin) / (each * senders);
    }));
  }
  return points;
}

std::vector<model::Point> Bench::cast_gaps(const std::vector<int>& sizes) {
  std::vector<model::Point> points;
  for (const int bytes : sizes) {
    const int count = std::clamp((1 << 20) / std::max(bytes, 1), 4, 64);
    points.push_back(repeat(bytes, 7, [&] {
      const double begin = now_ns();
      for (int i = 0; i < count; ++i) MPI_Bcast(buffer_.data(), bytes, MPI_CHAR, 0, comm_);
      if (rank_ == size_ - 1) MPI_Send(nullptr, 0, MPI_CHAR, 0, kAnswerTag, comm_);
      if (rank_ == 0) MPI_Recv(nullptr, 0, MPI_CHAR, size_ - 1, kAnswerTag, comm_, MPI_STATUS_IGNORE);
      return (now_ns() - begin) / count;
    }));
  }
  return points;
}

// Rank 1 answers as soon as it has the data; the answer is half a round trip of nothing.
std::vector<model::Point> Bench::cast_times(const std::vector<int>& sizes) {
  std::vector<model::Point> points;
  for (const int bytes : sizes)
    points.push_back(repeat(bytes, 15, [&] {
      const double begin = now_ns();
      MPI_Bcast(buffer_.data(), bytes, MPI_CHAR, 0, comm_);
      if (rank_ == 1) MPI_Send(nullptr, 0, MPI_CHAR, 0, kAnswerTag, comm_);
      if (rank_ == 0) MPI_Recv(nullptr, 0, MPI_CHAR, 1, kAnswerTag, comm_, MPI_STATUS_IGNORE);
      return now_ns() - begin;
    }));
  return points;
}

}  // namespace herald::measure
