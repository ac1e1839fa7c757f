// zstd frames, made by a thread of its own that sleeps between bodies. The zstd is the one inside the running Node.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

#include "processors.h"

namespace understudy {

/// A frame that was asked for.
struct frame_outcome {
  /// Of the frame, at the front of its target.
  size_t bytes;
  /// What zstd says when it made none; null otherwise. A text that lives for ever.
  const char* error;
};

/// For one caller, and one body at a time.
class frame_compressor {
 public:
  /// Called on the compressor's thread when a body is through; `outcome` tells then.
  using ended = void (*)(void* context) noexcept;

  /// Whether the running Node has zstd for others to use. Where it has not, there must be no compressor.
  [[nodiscard]] static bool possible() noexcept;

  /// Starts the thread. `parameters` are pairs of a ZSTD_cParameter and its value. Throws a std::exception when zstd
  /// refuses one, or there is no memory or thread to be had.
  frame_compressor(const int32_t* parameters, size_t count, ended tell, void* context);
  frame_compressor(const frame_compressor&) = delete;
  frame_compressor& operator=(const frame_compressor&) = delete;
  /// Joins the thread, after the body that it compresses at the moment.
  ~frame_compressor();

  /// Has one frame made of `body`, into `target`: both must stay where they are until the end is told, and no other
  /// body may be given until then. A body that changes meanwhile makes a frame that holds anything.
  void begin(const uint8_t* body, size_t body_bytes, uint8_t* target, size_t target_bytes) noexcept;

  /// Of the last body whose end was told.
  [[nodiscard]] frame_outcome outcome() noexcept;

 private:
  struct context_owner {
    void* zstd = nullptr;
    ~context_owner();
  };

  void wake(thread_number sleeper) noexcept;
  void serve() noexcept;
  void compress() noexcept;

  context_owner context_;
  const ended tell_;
  void* const tell_context_;
  // The lock guards all that follows.
  std::mutex lock_;
  std::condition_variable wanted_;
  bool offered_ = false;
  bool leaving_ = false;
  /// Of the thread; 0 until it has begun to wait.
  thread_number number_ = 0;
  const uint8_t* body_ = nullptr;
  size_t body_bytes_ = 0;
  uint8_t* target_ = nullptr;
  size_t target_bytes_ = 0;
  frame_outcome outcome_ = {0, nullptr};
  // Last: it begins when all above is there.
  std::thread thread_;
};

}  // namespace understudy
