// The JavaScript interface of the decoder.
#pragma once

#include <memory>
#include <vector>

#include "decoder.h"
#include "napi.h"

namespace understudy {

/// `new Decoder(planJson)`; throws a TypeError for a string that is not a plan.
class js_decoder : public Napi::ObjectWrap<js_decoder> {
 public:
  /// The constructor for JavaScript.
  static Napi::Function define(Napi::Env env);

  explicit js_decoder(const Napi::CallbackInfo& info);

 private:
  /// `decode(body, memory, starts, capacities)` as `NativeDecoder` of native-addon.ts describes it.
  Napi::Value decode(const Napi::CallbackInfo& info);

  void place_columns(Napi::ArrayBuffer memory_buffer, const Napi::Uint32Array& starts,
                     const Napi::Uint32Array& capacities);
  Napi::Object findings(Napi::Env env) const;

  std::unique_ptr<decoder> decoder_;
  std::vector<void*> starts_;
};

}  // namespace understudy
