// Makes writes and syncs of one file (WATCHED_FILE) fail while the file FAULT_FILE contains a word: what a test writes
// there takes effect at the next call. Preloaded into a server.
//
//   no-space     writes fail with ENOSPC            short       writes take half of their bytes, at least one
//   write-error  writes fail with EIO               sync-error  syncs fail with EIO
//   meta-error   writes that are a sync themselves (O_DSYNC: LMDB's meta pages) fail with EIO
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../../crash/native/watched_file.h"

namespace {
bool fault_is(const char *name) {
  static const char *const path = getenv("FAULT_FILE");
  const int caused = errno;
  char word[32] = {};
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (read(file, word, sizeof word - 1) < 0) word[0] = 0;
    close(file);
  }
  errno = caused;
  return strcmp(word, name) == 0;
}

bool fails(int error) {
  errno = error;
  return true;
}

// True: the call fails with `errno`. Otherwise `shorten` is whether to write less than requested.
bool write_fails(int descriptor, bool *shorten) {
  *shorten = false;
  if (!is_watched(descriptor)) return false;
  if (fault_is("no-space")) return fails(ENOSPC);
  if (fault_is("write-error")) return fails(EIO);
  if ((fcntl(descriptor, F_GETFL) & O_DSYNC) != 0) return fault_is("meta-error") && fails(EIO);
  *shorten = fault_is("short");
  return false;
}

size_t cut(size_t length, bool shorten) { return shorten ? (length + 1) / 2 : length; }

bool sync_fails(int descriptor) { return is_watched(descriptor) && fault_is("sync-error") && fails(EIO); }
}  // namespace

extern "C" {
#define WRITE_AT(name)                                                            \
  ssize_t name(int descriptor, const void *bytes, size_t length, off_t offset) {  \
    static const auto next = next_of(name, #name);                                \
    bool shorten;                                                                 \
    if (write_fails(descriptor, &shorten)) return -1;                             \
    return next(descriptor, bytes, cut(length, shorten), offset);                 \
  }
#define SYNC(name)                                                                \
  int name(int descriptor) {                                                      \
    static const auto next = next_of(name, #name);                                \
    return sync_fails(descriptor) ? -1 : next(descriptor);                        \
  }

WRITE_AT(pwrite)
WRITE_AT(pwrite64)
SYNC(fsync)
SYNC(fdatasync)

ssize_t write(int descriptor, const void *bytes, size_t length) {
  static const auto next = next_of(write, "write");
  bool shorten;
  if (write_fails(descriptor, &shorten)) return -1;
  return next(descriptor, bytes, cut(length, shorten));
}

ssize_t writev(int descriptor, const iovec *parts, int count) {
  static const auto next = next_of(writev, "writev");
  bool shorten;
  if (write_fails(descriptor, &shorten)) return -1;
  return shorten ? write(descriptor, parts[0].iov_base, parts[0].iov_len) : next(descriptor, parts, count);
}
}
