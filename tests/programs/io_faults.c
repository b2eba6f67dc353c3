/* SPDX-License-Identifier: BSD-3-Clause */
/* Under io_fault_layer: transfers fail at random. Every rank of a collective call gets the same class, the
   class of the error that was injected; no rank waits; data that was written without an error is there.
   io_faults CLASS: of MPI_ERR_NO_SPACE and the like, as a number of errno. */
#include <errno.h>

#include "check.h"
#include "io_path.h"

enum { INTS = 2000 };

static int rank, size, failures, successes;

static int class_for(int number) {
  switch (number) {
    case ENOSPC: return MPI_ERR_NO_SPACE;
    case EDQUOT: return MPI_ERR_QUOTA;
    case EROFS: return MPI_ERR_READ_ONLY;
    default: return MPI_ERR_IO;
  }
}

/* The same outcome everywhere: success, or the class that was injected. */
static int agreed(int code, int wanted) {
  int klass = MPI_SUCCESS, low, high;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &klass);
  MPI_Allreduce(&klass, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&klass, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(low == high);
  CHECK(klass == MPI_SUCCESS || klass == wanted);
  if (klass == MPI_SUCCESS)
    successes++;
  else
    failures++;
  return klass == MPI_SUCCESS;
}

static int write_round(MPI_File fh, int way, const int* values, int wanted) {
  MPI_Request request, other;
  int code, good;
  switch (way) {
    case 0: code = MPI_File_write_at_all(fh, 0, values, INTS, MPI_INT, MPI_STATUS_IGNORE); break;
    case 1:
      OK(MPI_File_iwrite_at_all(fh, 0, values, INTS, MPI_INT, &request));
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    case 2: /* two at once, which fail or not each for itself */
      OK(MPI_File_iwrite_at_all(fh, 0, values, INTS, MPI_INT, &request));
      OK(MPI_File_iwrite_at_all(fh, 0, values, INTS, MPI_INT, &other));
      good = agreed(MPI_Wait(&other, MPI_STATUS_IGNORE), wanted);
      return agreed(MPI_Wait(&request, MPI_STATUS_IGNORE), wanted) || good;
    default:
      code = MPI_File_write_at_all_begin(fh, 0, values, INTS, MPI_INT);
      if (code == MPI_SUCCESS) code = MPI_File_write_at_all_end(fh, values, MPI_STATUS_IGNORE);
  }
  return agreed(code, wanted);
}

int main(int argc, char** argv) {
  const int wanted = class_for(argc > 1 ? atoi(argv[1]) : EIO);
  static int values[INTS], got[INTS];
  MPI_Datatype column;
  MPI_Info info;
  MPI_File fh;
  int round, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_io_path("io_faults");
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "3000");
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info,
                   &fh));
  MPI_Type_vector(INTS, 1, size, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (round = 0; round < 60; round++) {
    MPI_Info_set(info, "romio_cb_write", round / 4 % 3 != 0 ? "enable" : "disable");
    MPI_Info_set(info, "romio_cb_read", round % 3 == 0 ? "enable" : "disable");
    if (round % 8 < 4)
      OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, column, "native", info));
    else
      OK(MPI_File_set_view(fh, 4 * INTS * rank, MPI_INT, MPI_INT, "native", info));
    for (i = 0; i < INTS; i++) values[i] = round * 1000000 + rank * 10000 + i;
    if (!write_round(fh, round % 4, values, wanted)) continue;
    if (agreed(MPI_File_read_at_all(fh, 0, got, INTS, MPI_INT, MPI_STATUS_IGNORE), wanted))
      CHECK(memcmp(got, values, sizeof got) == 0);
  }
  MPI_Type_free(&column);
  MPI_Info_free(&info);
  OK(MPI_File_close(&fh));
  CHECK(failures > 0);
  if (rank == 0) printf("%d failures, %d successes\n", failures, successes);
  return check_finalize();
}
