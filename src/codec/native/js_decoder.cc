// See js_decoder.h. This file checks the memory that comes from JavaScript; all other files rely on that.
#include "js_decoder.h"

#include <new>
#include <string>

namespace understudy {

namespace {

template <typename List>
Napi::Array numbers(Napi::Env env, const List& list) {
  Napi::Array array = Napi::Array::New(env, list.size());
  for (uint32_t i = 0; i < list.size(); i++) array.Set(i, Napi::Number::New(env, list[i]));
  return array;
}

Napi::Array texts(Napi::Env env, const std::vector<std::string_view>& list) {
  Napi::Array array = Napi::Array::New(env, list.size());
  for (uint32_t i = 0; i < list.size(); i++)
    array.Set(i, Napi::String::New(env, list[i].data(), list[i].size()));
  return array;
}

padded_bytes read_body(const Napi::Uint8Array& body) {
  const Napi::Value buffer = body.ArrayBuffer();
  // If the buffer is shared, the bytes after the body are unknown.
  const size_t buffer_bytes = buffer.IsArrayBuffer() ? buffer.As<Napi::ArrayBuffer>().ByteLength() : 0;
  if (body.ByteOffset() + body.ByteLength() + body_padding_bytes > buffer_bytes)
    throw Napi::RangeError::New(body.Env(), "the body has no padding after it");
  return {body.Data(), body.ByteLength()};
}

}  // namespace

Napi::Function js_decoder::define(Napi::Env env) {
  return DefineClass(env, "Decoder", {InstanceMethod<&js_decoder::decode>("decode")});
}

js_decoder::js_decoder(const Napi::CallbackInfo& info) : Napi::ObjectWrap<js_decoder>(info) {
  if (info.Length() < 1 || !info[0].IsString()) throw Napi::TypeError::New(info.Env(), "the plan must be a string");
  const std::string json = info[0].As<Napi::String>();
  std::optional<decode_plan> plan = read_plan(json);
  if (!plan) throw Napi::TypeError::New(info.Env(), "the native decoder cannot follow this plan");
  starts_.resize(plan->columns.size());
  decoder_ = std::make_unique<decoder>(std::move(*plan));
}

Napi::Value js_decoder::decode(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 4 || !info[0].IsTypedArray() || !info[1].IsArrayBuffer() || !info[2].IsTypedArray() ||
      !info[3].IsTypedArray()) {
    throw Napi::TypeError::New(env, "decode takes a body, memory, starts and capacities");
  }
  try {
    const auto capacities = info[3].As<Napi::Uint32Array>();
    place_columns(info[1].As<Napi::ArrayBuffer>(), info[2].As<Napi::Uint32Array>(), capacities);
    const padded_bytes body = read_body(info[0].As<Napi::Uint8Array>());
    if (!decoder_->decode(body, {starts_.data(), capacities.Data()})) return env.Null();
    return findings(env);
  } catch (const std::bad_alloc&) {
    throw Napi::Error::New(env, "the native decoder is out of memory");
  }
}

void js_decoder::place_columns(Napi::ArrayBuffer memory_buffer, const Napi::Uint32Array& starts,
                               const Napi::Uint32Array& capacities) {
  const size_t memory_bytes = memory_buffer.ByteLength();
  uint8_t* const memory = static_cast<uint8_t*>(memory_buffer.Data());
  const decode_plan& plan = decoder_->plan();
  bool fits = starts.ElementLength() == plan.columns.size() &&
              capacities.ElementLength() == plan.objects.size() && capacities[0] == 1;
  for (size_t column = 0; fits && column < plan.columns.size(); column++) {
    const column_layout layout = plan.columns[column];
    const size_t start = starts[column];
    fits = start % 8 == 0 && start + size_t{capacities[layout.object]} * layout.entry_bytes <= memory_bytes;
    starts_[column] = memory + start;
  }
  if (!fits) throw Napi::RangeError::New(memory_buffer.Env(), "the memory does not hold the columns of the plan");
}

Napi::Object js_decoder::findings(Napi::Env env) const {
  const decode_findings& found = decoder_->findings();
  Napi::Object object = Napi::Object::New(env);
  object.Set("rowCounts", numbers(env, found.row_counts));
  object.Set("memberOrder", numbers(env, found.member_order));
  object.Set("keys", texts(env, found.keys));
  return object;
}

}  // namespace understudy
