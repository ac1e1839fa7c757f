// See frame_compressor.h.
#include "frame_compressor.h"

#include <stdexcept>

// Declared here, since Node's headers bring none of zstd's: a part of its stable interface, the same since version 1.4.
// Node exports it from its own binary as it does all that is linked into it, and the project pins that binary. Weak: in
// a Node that exports none of it these are null, `possible` says no, and nobody makes a compressor.
extern "C" {
#define UNDERSTUDY_OF_NODE __attribute__((weak, visibility("default")))
UNDERSTUDY_OF_NODE void* ZSTD_createCCtx();
UNDERSTUDY_OF_NODE size_t ZSTD_freeCCtx(void* context);
UNDERSTUDY_OF_NODE size_t ZSTD_CCtx_setParameter(void* context, int parameter, int value);
UNDERSTUDY_OF_NODE size_t ZSTD_compress2(void* context, void* target, size_t target_bytes, const void* source,
                                         size_t source_bytes);
UNDERSTUDY_OF_NODE unsigned ZSTD_isError(size_t code);
UNDERSTUDY_OF_NODE const char* ZSTD_getErrorName(size_t code);
#undef UNDERSTUDY_OF_NODE
}

namespace understudy {

bool frame_compressor::possible() noexcept {
  return ZSTD_createCCtx && ZSTD_freeCCtx && ZSTD_CCtx_setParameter && ZSTD_compress2 && ZSTD_isError &&
         ZSTD_getErrorName;
}

frame_compressor::context_owner::~context_owner() {
  if (zstd != nullptr) ZSTD_freeCCtx(zstd);
}

frame_compressor::frame_compressor(const int32_t* parameters, size_t count, ended tell, void* context)
    : tell_(tell), tell_context_(context) {
  context_.zstd = ZSTD_createCCtx();
  if (context_.zstd == nullptr) throw std::runtime_error("zstd has no memory");
  for (size_t i = 0; i + 1 < count; i += 2) {
    const size_t code = ZSTD_CCtx_setParameter(context_.zstd, parameters[i], parameters[i + 1]);
    if (ZSTD_isError(code)) throw std::runtime_error(ZSTD_getErrorName(code));
  }
  thread_ = std::thread(&frame_compressor::serve, this);
}

frame_compressor::~frame_compressor() {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    leaving_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

void frame_compressor::begin(const uint8_t* body, size_t body_bytes, uint8_t* target,
                             size_t target_bytes) noexcept {
  thread_number sleeper = 0;
  {
    const std::lock_guard<std::mutex> guard(lock_);
    body_ = body;
    body_bytes_ = body_bytes;
    target_ = target;
    target_bytes_ = target_bytes;
    offered_ = true;
    sleeper = number_;
  }
  wake(sleeper);
}

frame_outcome frame_compressor::outcome() noexcept {
  const std::lock_guard<std::mutex> guard(lock_);
  return outcome_;
}

/// Without the lock, for which the thread would else wait as soon as it is awake.
void frame_compressor::wake(thread_number sleeper) noexcept {
  const woken_elsewhere placed(sleeper);
  wanted_.notify_one();
}

void frame_compressor::serve() noexcept {
  std::unique_lock<std::mutex> guard(lock_);
  number_ = own_thread_number();
  for (;;) {
    wanted_.wait(guard, [this] { return offered_ || leaving_; });
    if (leaving_) return;
    offered_ = false;
    guard.unlock();
    compress();
    tell_(tell_context_);
    guard.lock();
  }
}

/// In one call that knows the whole body, so that zstd neither copies it nor collects the frame in memory of its own.
/// What it derives from the body a second time it compares again, within bounds that do not come from the body: one
/// that is written to meanwhile does no harm but to its frame.
void frame_compressor::compress() noexcept {
  // Nobody writes these between `begin` and the end that is told.
  const size_t code = ZSTD_compress2(context_.zstd, target_, target_bytes_, body_, body_bytes_);
  const std::lock_guard<std::mutex> guard(lock_);
  if (ZSTD_isError(code)) {
    outcome_ = {0, ZSTD_getErrorName(code)};
  } else {
    outcome_ = {code, nullptr};
  }
}

}  // namespace understudy
