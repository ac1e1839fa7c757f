/*
 * bin/understudy of the bundle. It replaces itself with the Node of the bundle, which runs dist/cli/main.js, so that
 * signals reach the program. It needs no shell, nothing on the PATH and no /proc, and finds the bundle through symlinks.
 * It adds the directory bin to the end of the PATH: the service finds flock there if the machine has none.
 * bin/understudy of the sources is the same in sh.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

static int fail(const char *subject, const char *problem) {
  fprintf(stderr, "understudy: %s: %s\n", subject, problem);
  return 1;
}

/* `first`, `separator` and `second` in one string on the heap; NULL without memory. */
static char *joined(const char *first, char separator, const char *second) {
  size_t size = strlen(first) + strlen(second) + 2;
  char *text = malloc(size);
  if (text != NULL) snprintf(text, size, "%s%c%s", first, separator, second);
  return text;
}

/* The address space that a command needs, in GiB: as in bin/understudy of the sources. */
static rlim_t needed_gib(const char *command) {
  return command != NULL && (strcmp(command, "serve") == 0 || strcmp(command, "demo") == 0) ? 1088 : 32;
}

/* Adds a directory to the end of the PATH. */
static int extend_path(const char *directory) {
  const char *path = getenv("PATH");
  if (path == NULL || *path == '\0') return setenv("PATH", directory, 1);
  char *extended = joined(path, ':', directory);
  int status = extended == NULL ? -1 : setenv("PATH", extended, 1);
  free(extended);
  return status;
}

int main(int argc, char **argv) {
  /* The path that the kernel executed: argv[0] may be any text. */
  const char *called = (const char *)getauxval(AT_EXECFN);
  char *root = called == NULL ? NULL : realpath(called, NULL);
  if (root == NULL) return fail(called == NULL ? "bin/understudy" : called, strerror(errno));
  /* ROOT/bin/understudy */
  for (int level = 0; level < 2; level++) {
    char *slash = strrchr(root, '/');
    if (slash == NULL) return fail(called, "is not in a directory bin");
    *slash = '\0';
  }

  struct rlimit limit;
  rlim_t needed = needed_gib(argc > 1 ? argv[1] : NULL);
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur >> 30 < needed) {
    fprintf(stderr,
            "understudy: the address space is limited to %llu KiB, and %llu GiB are needed; run it without the limit: "
            "ulimit -v unlimited\n",
            (unsigned long long)(limit.rlim_cur / 1024), (unsigned long long)needed);
    return 1;
  }

  char *bin = joined(root, '/', "bin");
  char *node = joined(root, '/', "bin/node");
  char *program = joined(root, '/', "dist/cli/main.js");
  char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
  if (bin == NULL || node == NULL || program == NULL || arguments == NULL || extend_path(bin) != 0)
    return fail(called, strerror(ENOMEM));
  arguments[0] = node;
  /* As in bin/understudy of the sources: SIGUSR1 would open a debugger. */
  arguments[1] = "--disable-sigusr1";
  arguments[2] = program;
  /* The copy includes the null pointer at the end. */
  if (argc > 0) memcpy(arguments + 3, argv + 1, (size_t)argc * sizeof *arguments);
  execv(node, arguments);
  return fail(node, strerror(errno));
}
