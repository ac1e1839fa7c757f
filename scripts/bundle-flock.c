/*
 * bin/flock of the bundle, for machines without util-linux: `flock -x -n FD` locks an open file that it inherits, as
 * flock(1) does. Exit status 0 locked, 1 locked by another process, 64 wrong usage, 71 any other failure.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

int main(int argc, char **argv) {
  char *end = NULL;
  long fd = argc == 4 && strcmp(argv[1], "-x") == 0 && strcmp(argv[2], "-n") == 0 ? strtol(argv[3], &end, 10) : -1;
  if (end == NULL || end == argv[3] || *end != '\0' || fd < 0 || fd > 1 << 20) {
    fputs("usage: flock -x -n FD\n", stderr);
    return 64;
  }
  if (flock((int)fd, LOCK_EX | LOCK_NB) == 0) return 0;
  if (errno == EWOULDBLOCK) return 1;
  fprintf(stderr, "flock: %s: %s\n", argv[3], strerror(errno));
  return 71;
}
