/* SPDX-License-Identifier: BSD-3-Clause */
/* survivors.h: ranks 0 and 2 of a job of three have an error that is to name rank 1, which was killed.
   Neither ends before both have printed: the end of the first would be another error for the second. */
#ifndef HERALD_TESTS_SURVIVORS_H
#define HERALD_TESTS_SURVIVORS_H
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Prints "named" if the error is the right one, waits outside the library for the other survivor, and ends.
 */
static inline void end_with_the_other(int rank, int is_right) {
  enum { kLimitMs = 20000, kStepMs = 10 };
  const char* folder = getenv("SURVIVORS_DIR"); /* from rank_killed.py: empty when the job starts */
  char mine[300], other[300];
  snprintf(mine, sizeof mine, "%s/printed.%d", folder != NULL ? folder : "/tmp", rank);
  snprintf(other, sizeof other, "%s/printed.%d", folder != NULL ? folder : "/tmp", 2 - rank);
  if (is_right) printf("named\n");
  fflush(stdout);
  close(open(mine, O_CREAT | O_WRONLY, 0600));
  for (int ms = 0; ms < kLimitMs && access(other, F_OK) != 0; ms += kStepMs) usleep(kStepMs * 1000);
  _exit(is_right ? 0 : 3);
}
#endif
