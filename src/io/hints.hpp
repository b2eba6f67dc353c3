// SPDX-License-Identifier: BSD-3-Clause
// io/hints.hpp: the info keys of files: those of the MPI standard, and those that programs know from ROMIO.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace herald::io {

enum class Choice : std::uint8_t { automatic, enable, disable };

struct Hints {
  Choice cb_read = Choice::automatic, cb_write = Choice::automatic;
  Choice ds_read = Choice::automatic, ds_write = Choice::automatic;
  bool no_indep_rw = false;
  std::int64_t cb_nodes = 0;  // 0: one on each host
  std::int64_t cb_buffer_size = 16 << 20;
  std::int64_t ind_rd_buffer_size = 4 << 20, ind_wr_buffer_size = 512 << 10;
  std::int64_t striping_unit = 0, striping_factor = 0;  // 0: as the file system has it
  std::int64_t file_perm = 0;                           // octal; 0: 666 without the umask
  std::string cb_config_list = "*:1", access_style;

  // False: the key is not known, or the value is not valid for it; nothing has changed then.
  bool set(const std::string& key, const std::string& value) noexcept;
  // All keys that are in force.
  std::vector<std::pair<std::string, std::string>> list() const noexcept;
};

// Of a cb_config_list: how many aggregators a host may have. "*:2,node7:0": two, none on node7.
int aggregators_on(const std::string& list, const std::string& host) noexcept;

}  // namespace herald::io
