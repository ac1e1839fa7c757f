// The frame compressor as JavaScript sees it.
#pragma once

#include <memory>

#include "frame_compressor.h"
#include "napi.h"

namespace understudy {

/// `new FrameCompressor(parameters: Int32Array)`: pairs of a ZSTD_cParameter and its value. Throws an Error when zstd
/// refuses one, or no thread can be started.
class js_frame_compressor : public Napi::ObjectWrap<js_frame_compressor> {
 public:
  /// The constructor for JavaScript; null where the running Node has no zstd for others to use.
  [[nodiscard]] static Napi::Value define(Napi::Env env);

  explicit js_frame_compressor(const Napi::CallbackInfo& info);
  ~js_frame_compressor() override;

 private:
  /// `begin(body: Uint8Array, target: Uint8Array, ended)`. Both are held, and must not be transferred, until
  /// `ended(error, bytes)` is called in a turn of its own: undefined and the length of the frame at the front of
  /// `target`, or what zstd says. Throws while another body is under way. Until then a process does not end by itself.
  void begin(const Napi::CallbackInfo& info);

  static void deliver(napi_env env, napi_value, void* self, void*);
  void finish(napi_env env) noexcept;
  /// Joins the thread, and has no one told any more.
  static void stop_now(void* self);

  Napi::Env env_;
  /// Has `deliver` called in a turn of the event loop.
  napi_threadsafe_function teller_ = nullptr;
  /// Null when the environment has ended.
  std::unique_ptr<frame_compressor> compressor_;
  /// What follows belongs to the body under way.
  bool busy_ = false;
  napi_ref body_ = nullptr;
  napi_ref target_ = nullptr;
  napi_ref ended_ = nullptr;
};

}  // namespace understudy
