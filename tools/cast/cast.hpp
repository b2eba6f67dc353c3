// SPDX-License-Identifier: BSD-3-Clause
// tools/cast/cast.hpp: the parts of herald-cast, the MPI program of `herald cast`: rank 0 reads, one rank of
// each other host writes, MPI_Ibcast transfers the data.
#pragma once
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace herald::cast {

constexpr std::uint64_t kBlock = 4 << 20;    // bytes of one broadcast; an interrupted copy resumes at a block
constexpr std::uint64_t kSlice = 256 << 10;  // bytes of file access between two calls of MPI_Test

// A file, folder or symbolic link to copy.
struct Item {
  enum Kind : std::uint8_t { folder, file, link };
  Kind kind = file;
  std::uint32_t mode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;
  std::string name;    // below the root; empty: the root itself
  std::string target;  // of a link
};

// Lists the items below `source`; errors go to `why`. Pack and unpack convert a list for a broadcast.
bool list_items(const std::string& source, std::vector<Item>& items, std::string& why);
std::string pack_items(const std::vector<Item>& items);
std::vector<Item> unpack_items(const std::string& text);

// The path of the copy: below a path that ends with / or is a folder, the copy has the source's name.
std::string destination_of(const std::string& path, const std::string& source, bool is_folder);

struct Options {
  std::string source;
  std::vector<std::string> paths;  // one for all, or one for each host after the first
  bool bar = false;                // a progress bar; otherwise a line at intervals
  bool quiet = false;
  bool verify = false;  // read back what was written
};

// Rank 0's report of progress on stderr.
class Progress {
 public:
  Progress(const Options& options, std::uint64_t total) : options_(options), total_(total) {}
  void add(std::uint64_t bytes, bool copied);
  void finish(std::size_t hosts);

 private:
  using Clock = std::chrono::steady_clock;
  void show(bool last);
  const Options& options_;
  const std::uint64_t total_;
  std::uint64_t done_ = 0, copied_ = 0;
  int shown_ = -1;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_at_ = begin_;
};

// Copies items; collective over `comm`. Errors are kept until the end: a rank that cannot write stays in the
// broadcast, so that the others get their data.
class Copier {
 public:
  Copier(MPI_Comm comm, const Options& options, std::string root);
  void copy(const Item& item, Progress& progress);
  // Rank 0: one line for each rank with errors, with the host's name.
  std::vector<std::string> gather_errors();

 private:
  void send_file(const Item& item, int fd, std::uint64_t from, Progress& progress);
  void receive_file(const Item& item, int fd, std::uint64_t from, bool take);
  std::uint64_t agree_on_start(const Item& item, int fd, std::uint64_t have);
  int open_part(const Item& item, std::uint64_t& have);
  void finish_file(const Item& item, int fd, bool good);
  void make_folder(const Item& item);
  void make_link(const Item& item);
  void fail(const std::string& path, const std::string& what);
  std::string path_of(const Item& item) const { return item.name.empty() ? root_ : root_ + "/" + item.name; }

  MPI_Comm comm_;
  const Options& options_;
  const std::string root_;
  int rank_ = 0;
  std::vector<std::byte> blocks_[2];
  std::uint32_t crc_ = 0;  // of the current file
  std::string first_error_;
  std::uint64_t error_count_ = 0;
};

// CRC32C of the first `bytes` of a file; false: it cannot be read.
bool sum_of(int fd, std::uint64_t bytes, std::uint32_t& sum);

}  // namespace herald::cast
