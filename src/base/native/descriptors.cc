// File descriptors of this process that its children do not inherit: the mark close-on-exec.
#include "descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace understudy {

namespace {

void mark(int descriptor) {
  // Fails for a descriptor that is not open, which needs no mark.
  int flags = fcntl(descriptor, F_GETFD);
  if (flags >= 0 && (flags & FD_CLOEXEC) == 0) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

}  // namespace

void close_on_exec(const Napi::CallbackInfo&) {
  constexpr int first = STDERR_FILENO + 1;
  if (DIR* open = opendir("/dev/fd")) {
    while (const dirent* entry = readdir(open)) {
      // Zero for `.` and `..`.
      int descriptor = std::atoi(entry->d_name);
      if (descriptor >= first) mark(descriptor);
    }
    closedir(open);
    return;
  }
  // There is no /proc.
  for (long descriptor = first, count = sysconf(_SC_OPEN_MAX); descriptor < count; descriptor++)
    mark(static_cast<int>(descriptor));
}

}  // namespace understudy
