// See processors.h.
#include "processors.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace understudy {

#ifdef __linux__

namespace {

/// Lets `thread` run on those of `allowed` that are not the caller's. False where there are none, or nothing changes.
bool keep_off(thread_number thread, const cpu_set_t& allowed) {
  const int here = sched_getcpu();
  if (here < 0 || !CPU_ISSET(here, &allowed)) return false;
  cpu_set_t others = allowed;
  CPU_CLR(here, &others);
  return CPU_COUNT(&others) > 0 && sched_setaffinity(thread, sizeof others, &others) == 0;
}

}  // namespace

thread_number own_thread_number() noexcept { return static_cast<thread_number>(syscall(SYS_gettid)); }

void keep_off_own_processor(thread_number thread) noexcept {
  cpu_set_t allowed;
  // The caller's own: that of the thread still lacks the processor of the call before.
  if (thread > 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0) keep_off(thread, allowed);
}

woken_elsewhere::woken_elsewhere(thread_number thread) noexcept {
  if (thread > 0 && sched_getaffinity(thread, sizeof allowed_, &allowed_) == 0 && keep_off(thread, allowed_))
    thread_ = thread;
}

woken_elsewhere::~woken_elsewhere() {
  if (thread_ != 0) sched_setaffinity(thread_, sizeof allowed_, &allowed_);
}

#else

thread_number own_thread_number() noexcept { return 0; }

void keep_off_own_processor(thread_number) noexcept {}

woken_elsewhere::woken_elsewhere(thread_number) noexcept {}

woken_elsewhere::~woken_elsewhere() = default;

#endif

}  // namespace understudy
