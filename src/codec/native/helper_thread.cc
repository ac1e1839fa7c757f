// See helper_thread.h.
#include "helper_thread.h"

#include <exception>

namespace understudy {

helper_thread::~helper_thread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> guard(lock_);
    state_ = state::leaving;
  }
  offered_.notify_one();
  thread_.join();
}

bool helper_thread::begin(work run, void* context) noexcept {
  if (!thread_.joinable() && !start()) return false;
  thread_number helper = 0;
  {
    const std::lock_guard<std::mutex> guard(lock_);
    run_ = run;
    context_ = context;
    state_ = state::offered;
    helper = number_;
  }
  const woken_elsewhere placed(helper);
  offered_.notify_one();
  return true;
}

void helper_thread::end() noexcept {
  std::unique_lock<std::mutex> guard(lock_);
  if (state_ == state::offered) state_ = state::idle;
  // It is mostly about to end: looking again for some 50 µs costs less than being woken.
  constexpr int looks = 100;
  for (int look = 0; state_ != state::idle && look < looks; look++) {
    guard.unlock();
    std::this_thread::yield();
    guard.lock();
  }
  idle_.wait(guard, [this] { return state_ == state::idle; });
}

bool helper_thread::start() noexcept {
  if (refused_) return false;
  try {
    refused_ = std::thread::hardware_concurrency() < 2;
    if (!refused_) thread_ = std::thread(&helper_thread::serve, this);
  } catch (const std::exception&) {
    // No memory, or as many threads as the system allows.
    refused_ = true;
  }
  return !refused_;
}

void helper_thread::serve() noexcept {
  std::unique_lock<std::mutex> guard(lock_);
  number_ = own_thread_number();
  for (;;) {
    offered_.wait(guard, [this] { return state_ == state::offered || state_ == state::leaving; });
    if (state_ == state::leaving) return;
    state_ = state::working;
    guard.unlock();
    run_(context_);
    guard.lock();
    // Whoever destroys this object meanwhile waits for the thread, not for the state.
    if (state_ == state::leaving) return;
    state_ = state::idle;
    idle_.notify_one();
  }
}

}  // namespace understudy
