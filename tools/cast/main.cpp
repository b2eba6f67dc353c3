// SPDX-License-Identifier: BSD-3-Clause
// tools/cast/main.cpp: herald-cast, the MPI program of `herald cast` (docs/cast.md). One rank of each host
// takes part; rank 0 has the source.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cast.hpp"

namespace {

using namespace herald::cast;

// The lowest rank of each host; MPI_COMM_NULL for the others.
MPI_Comm host_leaders() {
  MPI_Comm host = MPI_COMM_NULL, all = MPI_COMM_NULL;
  int rank = 0, local = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &local);
  MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? 0 : MPI_UNDEFINED, rank, &all);
  MPI_Comm_free(&host);
  return all;
}

// Rank 0 lists the items and broadcasts them. False: nothing can be copied.
bool agree_on_items(MPI_Comm comm, int rank, const Options& options, std::vector<Item>& items) {
  std::string text, why;
  std::int64_t length = -1;
  if (rank == 0) {
    if (list_items(options.source, items, why)) {
      text = pack_items(items);
      length = static_cast<std::int64_t>(text.size());
    }
    if (!why.empty()) std::fprintf(stderr, "herald cast: %s\n", why.c_str());
  }
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, comm);
  if (length < 0) return false;
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast_c(text.data(), length, MPI_CHAR, 0, comm);
  if (rank != 0) items = unpack_items(text);
  return true;
}

int run(MPI_Comm comm, const Options& options) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size < 2) {
    std::fprintf(stderr, "herald cast: there is no other host to copy to\n");
    return 2;
  }
  if (options.paths.size() != 1 && options.paths.size() != static_cast<std::size_t>(size - 1)) {
    if (rank == 0)
      std::fprintf(stderr, "herald cast: %zu paths for %d hosts; give one for all, or one for each\n",
                   options.paths.size(), size - 1);
    return 2;
  }
  std::vector<Item> items;
  if (!agree_on_items(comm, rank, options, items)) return 1;
  const std::size_t own = options.paths.size() == 1 || rank == 0 ? 0 : static_cast<std::size_t>(rank - 1);
  const bool folder = items[0].kind == Item::folder;
  std::uint64_t total = 0;
  for (const Item& item : items) total += item.bytes;
  Progress progress(options, total);
  Copier copier(comm, options, destination_of(options.paths[own], options.source, folder));
  for (const Item& item : items) copier.copy(item, progress);
  const std::vector<std::string> errors = copier.gather_errors();
  for (const std::string& each : errors) std::fprintf(stderr, "herald cast: %s\n", each.c_str());
  int failed = errors.empty() ? 0 : 1;
  MPI_Bcast(&failed, 1, MPI_INT, 0, comm);
  if (rank == 0) progress.finish(static_cast<std::size_t>(size - 1));
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"herald-cast: copies a file or folder of rank 0's host to the other hosts of the job",
               "herald-cast"};
  Options options;
  app.add_option("source", options.source, "file or folder, on the host of rank 0")->required();
  app.add_option("path", options.paths,
                 "path of the copy: one for all hosts, or one for each after the first")
      ->required();
  app.add_flag("--bar", options.bar, "a progress bar");
  app.add_flag("-q,--quiet", options.quiet, "print errors only");
  app.add_flag("--verify", options.verify, "read back what was written");
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  int code = 0;
  MPI_Comm comm = host_leaders();
  if (comm != MPI_COMM_NULL) {
    code = run(comm, options);
    MPI_Comm_free(&comm);
  }
  MPI_Finalize();
  return code;
}
