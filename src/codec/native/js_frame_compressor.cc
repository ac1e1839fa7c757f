// See js_frame_compressor.h.
#include "js_frame_compressor.h"

#include <exception>

namespace understudy {

namespace {

bool is_bytes(const Napi::Value& value) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
}

}  // namespace

Napi::Value js_frame_compressor::define(Napi::Env env) {
  if (!frame_compressor::possible()) return env.Null();
  return DefineClass(env, "FrameCompressor", {InstanceMethod<&js_frame_compressor::begin>("begin")});
}

js_frame_compressor::js_frame_compressor(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<js_frame_compressor>(info), env_(info.Env()) {
  if (info.Length() < 1 || !info[0].IsTypedArray() ||
      info[0].As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
    throw Napi::TypeError::New(env_, "parameters are pairs in an Int32Array");
  }
  const auto parameters = info[0].As<Napi::Int32Array>();
  const Napi::String name = Napi::String::New(env_, "zstd frame");
  if (napi_create_threadsafe_function(env_, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this,
                                      &js_frame_compressor::deliver, &teller_) != napi_ok) {
    throw Napi::Error::New(env_, "a thread could not be told of");
  }
  napi_unref_threadsafe_function(env_, teller_);
  try {
    compressor_ = std::make_unique<frame_compressor>(
        parameters.Data(), parameters.ElementLength(),
        [](void* teller) noexcept {
          napi_call_threadsafe_function(static_cast<napi_threadsafe_function>(teller), nullptr, napi_tsfn_nonblocking);
        },
        teller_);
  } catch (const std::exception& error) {
    napi_release_threadsafe_function(teller_, napi_tsfn_release);
    throw Napi::Error::New(env_, error.what());
  }
  // An environment that ends calls its hooks before it lets go of any object, the youngest first: while the teller's
  // own is to come, and the memory of a body under way is still held.
  napi_add_env_cleanup_hook(env_, &js_frame_compressor::stop_now, this);
}

js_frame_compressor::~js_frame_compressor() {
  if (compressor_ == nullptr) return;
  napi_remove_env_cleanup_hook(env_, &js_frame_compressor::stop_now, this);
  stop_now(this);
}

void js_frame_compressor::stop_now(void* self) {
  auto& stopped = *static_cast<js_frame_compressor*>(self);
  stopped.compressor_.reset();
  napi_release_threadsafe_function(stopped.teller_, napi_tsfn_release);
}

void js_frame_compressor::begin(const Napi::CallbackInfo& info) {
  if (info.Length() < 3 || !is_bytes(info[0]) || !is_bytes(info[1]) || !info[2].IsFunction())
    throw Napi::TypeError::New(env_, "begin takes a body, a target and what is to be called");
  if (busy_ || compressor_ == nullptr) throw Napi::Error::New(env_, "another body is compressed");
  auto body = info[0].As<Napi::Uint8Array>();
  auto target = info[1].As<Napi::Uint8Array>();
  napi_create_reference(env_, body, 1, &body_);
  napi_create_reference(env_, target, 1, &target_);
  napi_create_reference(env_, info[2], 1, &ended_);
  busy_ = true;
  Ref();
  napi_ref_threadsafe_function(env_, teller_);
  compressor_->begin(body.Data(), body.ByteLength(), target.Data(), target.ByteLength());
}

/// Without an environment: it has ended, and with it whoever wanted to be told.
void js_frame_compressor::deliver(napi_env env, napi_value, void* self, void*) {
  if (env != nullptr) static_cast<js_frame_compressor*>(self)->finish(env);
}

/// Calls Node-API itself: in a thread that is being terminated no call into JavaScript succeeds, which is no news here,
/// and the C++ wrapper would throw what then nobody can be told.
void js_frame_compressor::finish(napi_env env) noexcept {
  if (compressor_ == nullptr) return;
  const frame_outcome outcome = compressor_->outcome();
  napi_value ended = nullptr;
  napi_value arguments[2] = {nullptr, nullptr};
  napi_get_reference_value(env, ended_, &ended);
  if (outcome.error == nullptr) {
    napi_get_undefined(env, &arguments[0]);
  } else {
    napi_create_string_utf8(env, outcome.error, NAPI_AUTO_LENGTH, &arguments[0]);
  }
  napi_create_double(env, static_cast<double>(outcome.bytes), &arguments[1]);
  busy_ = false;
  for (napi_ref* held : {&body_, &target_, &ended_}) {
    napi_delete_reference(env, *held);
    *held = nullptr;
  }
  napi_unref_threadsafe_function(env, teller_);
  napi_reference_unref(env, *this, nullptr);
  napi_value nothing = nullptr;
  napi_get_undefined(env, &nothing);
  napi_call_function(env, nothing, ended, 2, arguments, nullptr);
}

}  // namespace understudy
