/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/programs/rma_model.h: random numbers that all ranks draw alike, and the serial model of updates. */
#ifndef HERALD_TESTS_RMA_MODEL_H
#define HERALD_TESTS_RMA_MODEL_H
#include <mpi.h>
#include <stdint.h>
#include <string.h>

enum Element { kByte, kInt, kLong, kDouble, kElements };

static uint64_t seed, state;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1dull;
}
static int below(int n) { return (int)((draw() >> 20) % (uint64_t)n); }

static const size_t element_bytes[kElements] = {1, 4, 8, 8};
static MPI_Datatype element_type(int element) {
  return element == kByte   ? MPI_UINT8_T
         : element == kInt  ? MPI_INT
         : element == kLong ? MPI_INT64_T
                            : MPI_DOUBLE;
}

static int64_t reduce_long(int64_t in, int64_t old, MPI_Op op) {
  if (op == MPI_SUM) return in + old;
  if (op == MPI_PROD) return in * old;
  if (op == MPI_MAX) return in > old ? in : old;
  if (op == MPI_MIN) return in < old ? in : old;
  if (op == MPI_BXOR) return in ^ old;
  return op == MPI_REPLACE ? in : old;
}

static void reduce_element(char* at, const char* in, int element, MPI_Op op) {
  if (element == kByte) {
    *(uint8_t*)at = (uint8_t)reduce_long(*(const uint8_t*)in, *(uint8_t*)at, op);
  } else if (element == kInt) {
    int32_t a, b;
    memcpy(&a, in, 4), memcpy(&b, at, 4);
    b = (int32_t)reduce_long(a, b, op);
    memcpy(at, &b, 4);
  } else if (element == kLong) {
    int64_t a, b;
    memcpy(&a, in, 8), memcpy(&b, at, 8);
    if (op == MPI_PROD || op == MPI_SUM)
      b = op == MPI_SUM ? (int64_t)((uint64_t)a + (uint64_t)b) : (int64_t)((uint64_t)a * (uint64_t)b);
    else
      b = reduce_long(a, b, op);
    memcpy(at, &b, 8);
  } else {
    double a, b;
    memcpy(&a, in, 8), memcpy(&b, at, 8);
    b = op == MPI_SUM       ? a + b
        : op == MPI_PROD    ? a * b
        : op == MPI_MAX     ? (a > b ? a : b)
        : op == MPI_MIN     ? (a < b ? a : b)
        : op == MPI_REPLACE ? a
                            : b;
    memcpy(at, &b, 8);
  }
}

static void random_elements(char* to, int count, int element) {
  int i;
  for (i = 0; i < count; i++) {
    const int value = below(7) + 1;
    if (element == kByte) to[i] = (char)value;
    if (element == kInt) memcpy(to + 4 * i, &(int32_t){value}, 4);
    if (element == kLong) memcpy(to + 8 * i, &(int64_t){value}, 8);
    if (element == kDouble) memcpy(to + 8 * i, &(double){value}, 8);
  }
}

#endif
