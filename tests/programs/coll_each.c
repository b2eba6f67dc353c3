/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: an algorithm gives a wrong result for some number of ranks, size, root, form, with
   MPI_IN_PLACE or with a type that has gaps. coll_each.py runs this once for each row of algorithms, named in
   the environment. */
#include "coll_data.h"

int main(int argc, char** argv) {
  /* Below and above one pushed packet, one segment, several segments. */
  static const int counts[] = {0, 1, 6, 1023, 1025, 4500, 20011};
  int op, k, variant, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (op = 0; op < COLLECTIVES; op++)
    for (k = 0; k < 7; k++) {
      const int one_block = op == BCAST || op == REDUCE || op == ALLREDUCE;
      if (op == BARRIER && k > 0) break;
      if (counts[k] > (one_block ? 30000 : size > 5 ? 2000 : 5000)) break;
      for (variant = 0; variant < 12; variant++) {
        const int form = variant % 3, in_place = variant / 3 % 2, gappy = variant / 6;
        coll_t c;
        /* Of long data only some variants run, different ones for each size. */
        if (counts[k] > 1000 && (variant + k) % (size > 5 ? 5 : 2) != 0) continue;
        c = coll_new(op, counts[k], (op + k + variant) % size, in_place, MPI_COMM_WORLD);
        if (gappy) coll_gappy(&c);
        coll_fill(&c, variant);
        coll_call(&c, form);
        if (form == PERSISTENT) OK(MPI_Start(&c.request));
        if (form != BLOCKING) OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
        coll_check(&c);
        if (form == PERSISTENT) { /* a second time with other data */
          coll_fill(&c, variant + 1);
          OK(MPI_Start(&c.request));
          OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
          coll_check(&c);
          OK(MPI_Request_free(&c.request));
        }
        coll_free(&c);
      }
    }
  return check_finalize();
}
