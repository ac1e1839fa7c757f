// Which processor a thread is put on when it is woken.
//
// Linux puts it on an idle one, but in a virtual machine it takes a processor that has been idle for a while for one
// that the host has taken away (KVM's steal time: vcpu_is_preempted). Then whoever is woken shares the processor of the
// one that wakes it, one after the other, and the other processors stay idle: two pieces of work of a millisecond take
// two. A thread that may not run there, for as long as its wake-up takes, is put on another one.
#pragma once

#include <cstdint>

namespace understudy {

/// The system's number of a thread; 0 stands for none, and nothing is done for it.
using thread_number = int32_t;

/// That of the caller, 0 where the system is not Linux.
[[nodiscard]] thread_number own_thread_number() noexcept;

/// The thread may run where the caller may, but not on the processor on which the caller is. Nothing happens where the
/// caller has one processor only, or the system refuses.
void keep_off_own_processor(thread_number thread) noexcept;

/// The thread may run wherever the caller may.
void let_run_anywhere(thread_number thread) noexcept;

/// For the life of this object a thread is woken on another processor than the caller's.
class woken_elsewhere {
 public:
  explicit woken_elsewhere(thread_number thread) noexcept : thread_(thread) { keep_off_own_processor(thread_); }
  woken_elsewhere(const woken_elsewhere&) = delete;
  woken_elsewhere& operator=(const woken_elsewhere&) = delete;
  ~woken_elsewhere() { let_run_anywhere(thread_); }

 private:
  thread_number thread_;
};

}  // namespace understudy
