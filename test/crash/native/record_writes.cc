// Records what is written to one file, in order, into the log WRITES_LOG: test/crash/disk-record.ts reads it. Preloaded
// into a server. A write and its record happen under one lock; a sync is two records, since writes that arrive while it
// runs are not covered by it. SYNC_DELAY_US makes each sync end late, so that a response that does not wait for it is detected.
//
//   record: kind u32, 0 u32, offset u64, byte count u64, then the bytes of a write
//   kinds:  1 write   2 write that is a sync itself (O_DSYNC)   3 truncate to offset   4 sync begins   5 sync has ended
//           6 msync, which nothing here should call           (offset of 4 and 5: the number of the sync)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <vector>

#include "watched_file.h"

namespace {
struct record_head {
  uint32_t kind, unused;
  uint64_t offset, byte_count;
};

std::mutex order;
std::atomic<uint64_t> sync_count{0};

void put(uint32_t kind, uint64_t offset, const iovec *parts = nullptr, int count = 0, size_t byte_count = 0) {
  static const int log = open(getenv("WRITES_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const int caused = errno;
  record_head head{kind, 0, offset, byte_count};
  std::vector<iovec> all{{&head, sizeof head}};
  size_t rest = byte_count;
  for (int i = 0; i < count && rest > 0; i++) {
    const size_t length = parts[i].iov_len < rest ? parts[i].iov_len : rest;
    all.push_back({parts[i].iov_base, length});
    rest -= length;
  }
  // One call, so that records of two writers never mix. More parts than IOV_MAX would fail and show as a broken log.
  syscall(SYS_writev, log, all.data(), all.size());
  errno = caused;
}

uint32_t kind_of(int descriptor) { return (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0 ? 2 : 1; }

// `offset` < 0: at the descriptor's own position, or the end.
template <typename Call>
ssize_t recorded(int descriptor, const iovec *parts, int count, off_t offset, Call call) {
  if (!is_watched(descriptor)) return call();
  const std::lock_guard<std::mutex> lock(order);
  const ssize_t written = call();
  if (written <= 0) return written;
  const off_t start = offset >= 0 ? offset : lseek(descriptor, 0, SEEK_CUR) - written;
  put(kind_of(descriptor), static_cast<uint64_t>(start), parts, count, static_cast<size_t>(written));
  return written;
}

template <typename Call>
int synced(int descriptor, Call call) {
  if (!is_watched(descriptor)) return call();
  static const char *const delay_us = getenv("SYNC_DELAY_US");
  const uint64_t number = ++sync_count;
  {
    const std::lock_guard<std::mutex> lock(order);
    put(4, number);
  }
  const int result = call();
  if (delay_us != nullptr) usleep(static_cast<useconds_t>(atoi(delay_us)));
  if (result == 0) {
    const std::lock_guard<std::mutex> lock(order);
    put(5, number);
  }
  return result;
}

int truncated(int descriptor, off_t length, int (*call)(int, off_t)) {
  if (!is_watched(descriptor)) return call(descriptor, length);
  const std::lock_guard<std::mutex> lock(order);
  const int result = call(descriptor, length);
  if (result == 0) put(3, static_cast<uint64_t>(length));
  return result;
}
}  // namespace

extern "C" {
#define WRITE_AT(name)                                                                          \
  ssize_t name(int descriptor, const void *bytes, size_t length, off_t offset) {                \
    static const auto next = next_of(name, #name);                                              \
    const iovec part{const_cast<void *>(bytes), length};                                        \
    return recorded(descriptor, &part, 1, offset, [&] { return next(descriptor, bytes, length, offset); }); \
  }
#define WRITE_PARTS_AT(name)                                                                    \
  ssize_t name(int descriptor, const iovec *parts, int count, off_t offset) {                   \
    static const auto next = next_of(name, #name);                                              \
    return recorded(descriptor, parts, count, offset, [&] { return next(descriptor, parts, count, offset); }); \
  }
#define SYNC(name)                                                     \
  int name(int descriptor) {                                           \
    static const auto next = next_of(name, #name);                     \
    return synced(descriptor, [&] { return next(descriptor); });       \
  }
#define TRUNCATE(name)                                                 \
  int name(int descriptor, off_t length) noexcept {                    \
    static const auto next = reinterpret_cast<int (*)(int, off_t)>(dlsym(RTLD_NEXT, #name)); \
    return truncated(descriptor, length, next);                        \
  }

WRITE_AT(pwrite)
WRITE_AT(pwrite64)
WRITE_PARTS_AT(pwritev)
WRITE_PARTS_AT(pwritev64)
SYNC(fsync)
SYNC(fdatasync)
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

ssize_t write(int descriptor, const void *bytes, size_t length) {
  static const auto next = next_of(write, "write");
  const iovec part{const_cast<void *>(bytes), length};
  return recorded(descriptor, &part, 1, -1, [&] { return next(descriptor, bytes, length); });
}

ssize_t writev(int descriptor, const iovec *parts, int count) {
  static const auto next = next_of(writev, "writev");
  return recorded(descriptor, parts, count, -1, [&] { return next(descriptor, parts, count); });
}

int msync(void *address, size_t length, int flags) {
  static const auto next = next_of(msync, "msync");
  put(6, 0);
  return next(address, length, flags);
}
}
