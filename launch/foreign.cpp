// SPDX-License-Identifier: BSD-3-Clause
#include "foreign.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "text.hpp"

namespace herald::launch {
namespace {

struct Known {
  const char* start;
  const char* name;
};
// Hydra's PMI-1 is ours, so programs of MPICH contact us: they are here for those that fail to.
constexpr Known kKnown[] = {
    {"libmpi.so.40", "Open MPI"},
    {"libmpi.so.20", "Open MPI"},
    {"libmpi.so.12", "MPICH or Intel MPI"},
    {"libmpich.so", "MPICH"},
    {"libmpi_mpifh.so", "Open MPI"},
    {"libmpi_usempif08.so", "Open MPI"},
    {"libmpichfort.so", "MPICH"},
    {"libmpifort.so", "MPICH or Intel MPI"},
    {"liblam.so", "LAM/MPI"},
    {"libmpi.so", "another MPI"},
};

template <class T>
bool read_at(const std::string& file, std::uint64_t offset, T& out) {
  if (offset > file.size() || file.size() - offset < sizeof out) return false;
  std::memcpy(&out, file.data() + offset, sizeof out);
  return true;
}

std::uint64_t offset_of(const std::string& file, const Elf64_Ehdr& header, std::uint64_t address) {
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(file, header.e_phoff + static_cast<std::uint64_t>(i) * sizeof part, part)) break;
    if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
      return part.p_offset + (address - part.p_vaddr);
  }
  return file.size();
}

// The DT_NEEDED entries of a 64-bit ELF file.
std::vector<std::string> needed_by(const std::string& file) {
  std::vector<std::string> out;
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return out;
  std::vector<std::uint64_t> names;
  std::uint64_t strings = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(file, header.e_phoff + static_cast<std::uint64_t>(i) * sizeof part, part)) return out;
    if (part.p_type != PT_DYNAMIC) continue;
    Elf64_Dyn entry{};
    for (std::uint64_t at = part.p_offset; read_at(file, at, entry) && entry.d_tag != DT_NULL;
         at += sizeof entry) {
      if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) strings = offset_of(file, header, entry.d_un.d_ptr);
    }
  }
  for (const std::uint64_t name : names)
    if (name < file.size() && strings < file.size() - name) out.emplace_back(file.c_str() + strings + name);
  return out;
}

}  // namespace

void ForeignMpi::note(const std::string& library) {
  const std::string base = library.substr(library.rfind('/') + 1);
  for (const Known& known : kKnown)
    if (name_.empty() && base.starts_with(known.start)) name_ = cat(known.name, " (", base, ")");
}

void ForeignMpi::look_at(pid_t process) {
  std::ifstream maps(cat("/proc/", process, "/maps"));
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t slash = line.find('/'); slash != std::string::npos) note(line.substr(slash));
}

void ForeignMpi::look_at(const std::string& executable) {
  std::ifstream file(executable, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  for (const std::string& library : needed_by(text.str())) note(library);
}

}  // namespace herald::launch
