// SPDX-License-Identifier: BSD-3-Clause
// path/file/file.hpp: a file of MPI-IO as the operating system has it. Functions return an errno value, 0 for
// success. Transfers go on after short writes and interrupts until they are complete, or fail.
#pragma once
#include <cstdint>
#include <string>

#include "io/storage.hpp"

namespace herald::path {

// The same for all processes that see one file; birth is 0 where the file system does not tell it.
struct FileIdentity {
  std::uint64_t inode = 0, birth_ns = 0, device = 0;
};

// The kind of a file system, as statfs tells it.
enum class FileSystem : std::uint8_t { local, memory, nfs, parallel, other };
const char* name_of(FileSystem system) noexcept;

class File final : public io::Storage {
 public:
  ~File() override { (void)close(); }
  int open(const std::string& path, int flags, unsigned permissions) noexcept;
  int close() noexcept;

  using io::Storage::read;
  using io::Storage::write;
  io::Outcome read(std::int64_t offset, std::span<const type::Run> memory) noexcept override;
  io::Outcome write(std::int64_t offset, std::span<const type::Run> memory) noexcept override;

  int size(std::int64_t& bytes) noexcept;
  int set_size(std::int64_t bytes) noexcept;
  // Storage for the first `bytes` bytes; the file becomes so long if it is shorter, its data stays.
  int reserve(std::int64_t bytes) noexcept;
  int sync() noexcept;
  // Later reads find what other hosts had written and synchronised by now (NFS).
  void revalidate() const noexcept;
  int identify(FileIdentity& identity) noexcept;
  FileSystem system() noexcept;

 private:
  io::Outcome transfer(std::int64_t offset, std::span<const type::Run> memory, bool writes) noexcept;
  int fd_ = -1;
};

}  // namespace herald::path
