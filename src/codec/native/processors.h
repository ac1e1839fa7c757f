// Which processor a thread is put on when it is woken.
//
// Linux puts it on an idle one, but in a virtual machine it may take a processor that has been idle for a while for one
// that the host has taken away (most likely by KVM's steal time: vcpu_is_preempted). Then whoever is woken shares the
// processor of the one that wakes it, one after the other, and the other processors stay idle: two pieces of work of a
// millisecond take two. A thread that may not run there, for as long as its wake-up takes, is put on another one.
//
// On other systems, and where the system refuses, nothing happens.
#pragma once

#ifdef __linux__
#include <sched.h>
#endif

#include <cstdint>

namespace understudy {

/// The system's number of a thread; 0 stands for none, and nothing is done for it.
using thread_number = int32_t;

/// That of the caller, 0 where the system is not Linux.
[[nodiscard]] thread_number own_thread_number() noexcept;

/// From now on the thread may run where the caller may, but not on the processor on which the caller is. Nothing happens
/// where that is the only one.
void keep_off_own_processor(thread_number thread) noexcept;

/// For the life of this object a thread does not run on the processor on which the caller is, if it may run on others.
/// It is to be woken meanwhile.
class woken_elsewhere {
 public:
  explicit woken_elsewhere(thread_number thread) noexcept;
  woken_elsewhere(const woken_elsewhere&) = delete;
  woken_elsewhere& operator=(const woken_elsewhere&) = delete;
  ~woken_elsewhere();

 private:
#ifdef __linux__
  /// 0: nothing was changed.
  thread_number thread_ = 0;
  /// Where it may run, as it was before.
  cpu_set_t allowed_{};
#endif
};

}  // namespace understudy
