// See processors.h.
#include "processors.h"

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace understudy {

#ifdef __linux__

thread_number own_thread_number() noexcept { return static_cast<thread_number>(syscall(SYS_gettid)); }

void keep_off_own_processor(thread_number thread) noexcept {
  cpu_set_t allowed;
  const int here = sched_getcpu();
  // The caller's set, not the thread's own: that may still lack the processor of an earlier call.
  if (thread <= 0 || here < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_CLR(here, &allowed);
  if (CPU_COUNT(&allowed) > 0) sched_setaffinity(thread, sizeof allowed, &allowed);
}

void let_run_anywhere(thread_number thread) noexcept {
  cpu_set_t allowed;
  if (thread > 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    sched_setaffinity(thread, sizeof allowed, &allowed);
}

#else

thread_number own_thread_number() noexcept { return 0; }

void keep_off_own_processor(thread_number) noexcept {}

void let_run_anywhere(thread_number) noexcept {}

#endif

}  // namespace understudy
