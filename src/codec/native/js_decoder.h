// The JavaScript interface of the decoder.
#pragma once

#include "column_memory.h"
#include "decoder.h"
#include "napi.h"

namespace understudy {

/// `new Decoder()`.
class js_decoder : public Napi::ObjectWrap<js_decoder> {
 public:
  /// The constructor for JavaScript.
  static Napi::Function define(Napi::Env env);

  explicit js_decoder(const Napi::CallbackInfo& info);

 private:
  /// `decode(body)` as `NativeDecoder` of native-addon.ts describes it.
  Napi::Value decode(const Napi::CallbackInfo& info);

  Napi::Object findings(Napi::Env env, padded_bytes body) const;

  decoder decoder_;
  column_memory memory_;
};

/// The columns of the table: `{ object, bytes, name }` each.
Napi::Array decode_columns(Napi::Env env);

}  // namespace understudy
