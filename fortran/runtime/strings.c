/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran strings have a length and end with blanks; C strings end with a zero. */
#include "herald_fortran.h"

static size_t trimmed(const char* from, size_t length) {
  while (length > 0 && from[length - 1] == ' ') length--;
  return length;
}

/* Writes to `few` if the string fits, else to new memory; NULL if there is none. */
char* hf_trim(char* few, const char* from, size_t length, int both_ends) {
  length = trimmed(from, length);
  while (both_ends && length > 0 && *from == ' ') {
    from++;
    length--;
  }
  char* to = length < kShortString ? few : malloc(length + 1);
  if (to == NULL) return NULL;
  memcpy(to, from, length);
  to[length] = '\0';
  return to;
}

void hf_pad(char* to, size_t length, const char* from) {
  size_t used = strlen(from);
  if (used > length) used = length;
  memcpy(to, from, used);
  memset(to + used, ' ', length - used);
}

/* Strings that are `stride` bytes apart, up to the first blank one. */
char** hf_make_argv(const char* strings, size_t stride, size_t length) {
  size_t count = 0;
  while (trimmed(strings + count * stride, length) > 0) count++;
  char** argv = calloc(count + 1, sizeof(char*));
  for (size_t i = 0; argv != NULL && i < count; i++) {
    const size_t used = trimmed(strings + i * stride, length);
    argv[i] = malloc(used + 1);
    if (argv[i] == NULL) {
      hf_free_argv(argv);
      return NULL;
    }
    memcpy(argv[i], strings + i * stride, used);
    argv[i][used] = '\0';
  }
  return argv;
}

void hf_free_argv(char** argv) {
  for (char** one = argv; one != NULL && *one != NULL; one++) free(*one);
  free(argv);
}
