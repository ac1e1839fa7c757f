// Kills the process with SIGKILL at call KILL_AT of those that change files: writes, syncs, links, renames, removals. Calls before
// it have happened, and it has not. Preloaded into a command. With COUNT_FILE, writes the number of the calls there at each call.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {
std::atomic<long> calls{0};

void counted() {
  static const char *const at = getenv("KILL_AT");
  static const char *const file = getenv("COUNT_FILE");
  const long count = ++calls;
  if (at != nullptr && count == atol(at)) kill(getpid(), SIGKILL);
  if (file == nullptr) return;
  static const int output = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  char text[24];
  const int length = snprintf(text, sizeof text, "%020ld\n", count);
  syscall(SYS_pwrite64, output, text, static_cast<size_t>(length), 0);
}

bool is_file(int descriptor) {
  struct stat file{};
  return fstat(descriptor, &file) == 0 && (S_ISREG(file.st_mode) || S_ISDIR(file.st_mode));
}

template <typename Function>
Function *next_of(Function *, const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}
}  // namespace

extern "C" {
#define COUNT_OF_FILE(result, name, parameters, arguments) \
  result name parameters {                                 \
    static const auto next = next_of(name, #name);         \
    if (is_file(descriptor)) counted();                    \
    return next arguments;                                 \
  }
#define COUNT_OF_PATH(name, parameters, arguments)                                             \
  int name parameters noexcept {                                                               \
    static const auto next = reinterpret_cast<int (*) parameters>(dlsym(RTLD_NEXT, #name));     \
    counted();                                                                                 \
    return next arguments;                                                                     \
  }
COUNT_OF_FILE(ssize_t, write, (int descriptor, const void *bytes, size_t length), (descriptor, bytes, length))
COUNT_OF_FILE(ssize_t, pwrite, (int descriptor, const void *bytes, size_t length, off_t at), (descriptor, bytes, length, at))
COUNT_OF_FILE(ssize_t, pwrite64, (int descriptor, const void *bytes, size_t length, off64_t at), (descriptor, bytes, length, at))
COUNT_OF_FILE(ssize_t, pwritev, (int descriptor, const struct iovec *parts, int count, off_t at), (descriptor, parts, count, at))
COUNT_OF_FILE(ssize_t, pwritev64, (int descriptor, const struct iovec *parts, int count, off64_t at), (descriptor, parts, count, at))
COUNT_OF_FILE(int, fsync, (int descriptor), (descriptor))
COUNT_OF_FILE(int, fdatasync, (int descriptor), (descriptor))
COUNT_OF_PATH(link, (const char *from, const char *to), (from, to))
COUNT_OF_PATH(rename, (const char *from, const char *to), (from, to))
COUNT_OF_PATH(unlink, (const char *path), (path))
COUNT_OF_PATH(unlinkat, (int directory, const char *path, int flags), (directory, path, flags))
}
