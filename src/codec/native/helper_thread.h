// A second thread for half of a large piece of work. It sleeps between pieces and is started with the first
// one; where it cannot be started, or there is one core only, the caller does all the work itself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "processors.h"

namespace understudy {

/// For one caller at a time.
class helper_thread {
 public:
  using work = void (*)(void* context) noexcept;

  helper_thread() = default;
  helper_thread(const helper_thread&) = delete;
  helper_thread& operator=(const helper_thread&) = delete;
  /// Joins the thread, after the work that it does at the moment.
  ~helper_thread();

  /// Offers `run(context)` to the helper, which may begin it at any time until `end`. False when nobody
  /// helps.
  [[nodiscard]] bool begin(work run, void* context) noexcept;

  /// Takes the offer back if the helper has not begun, and else waits until it is through. What it wrote can
  /// be read then. Nothing happens without an offer.
  void end() noexcept;

 private:
  enum class state : uint8_t { idle, offered, working, leaving };

  [[nodiscard]] bool start() noexcept;
  void serve() noexcept;

  std::thread thread_;
  bool refused_ = false;
  // The lock guards all that follows.
  std::mutex lock_;
  std::condition_variable offered_;
  std::condition_variable idle_;
  state state_ = state::idle;
  work run_ = nullptr;
  void* context_ = nullptr;
  /// 0 until it has begun to wait.
  thread_number number_ = 0;
};

}  // namespace understudy
