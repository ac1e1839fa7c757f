// See js_decoder.h. This file checks the body that comes from JavaScript; all other files rely on that.
#include "js_decoder.h"

#include <algorithm>
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

/// For each object of the table the JSON text of a list of its rows that have unknown members, with nothing but these.
Napi::Array unknown_texts(Napi::Env env, const uint8_t* body, std::vector<unknown_member> members, size_t object_count) {
  std::stable_sort(members.begin(), members.end(), [](const unknown_member& a, const unknown_member& b) {
    return a.object != b.object ? a.object < b.object : a.row < b.row;
  });
  std::vector<std::string> texts(object_count);
  const unknown_member* before = nullptr;
  for (const unknown_member& member : members) {
    std::string& text = texts[member.object];
    if (text.empty()) {
      text += "[{";
    } else {
      text += before->row == member.row ? "," : "},{";
    }
    text.append(reinterpret_cast<const char*>(body) + member.start, member.end - member.start);
    before = &member;
  }
  Napi::Array array = Napi::Array::New(env, object_count);
  for (uint32_t object = 0; object < object_count; object++) {
    if (!texts[object].empty()) texts[object] += "}]";
    array.Set(object, Napi::String::New(env, texts[object]));
  }
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

js_decoder::js_decoder(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<js_decoder>(info), decoder_(cycle_table()), memory_(cycle_table()) {}

Napi::Value js_decoder::decode(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsTypedArray()) throw Napi::TypeError::New(env, "decode takes a body");
  try {
    const padded_bytes body = read_body(info[0].As<Napi::Uint8Array>());
    if (!decoder_.decode(body, memory_.reserve(body.bytes))) return env.Null();
    return findings(env, body);
  } catch (const std::bad_alloc&) {
    throw Napi::Error::New(env, "the native decoder is out of memory");
  }
}

Napi::Object js_decoder::findings(Napi::Env env, padded_bytes body) const {
  const decode_findings& found = decoder_.findings();
  Napi::Object object = Napi::Object::New(env);
  object.Set("rowCounts", numbers(env, found.row_counts));
  object.Set("memberOrder", numbers(env, found.member_order));
  object.Set("keys", texts(env, found.keys));
  object.Set("texts", texts(env, found.texts));
  // An array of their own only where there are any.
  if (!found.unknown_members.empty())
    object.Set("unknown", unknown_texts(env, body.data, found.unknown_members, found.row_counts.size()));
  // A buffer, because its memory is not zeroed first.
  auto block = Napi::Buffer<uint8_t>::New(env, memory_.block_bytes(found.row_counts));
  memory_.copy(found.row_counts, block.Data());
  object.Set("block", block);
  return object;
}

Napi::Array decode_columns(Napi::Env env) {
  const std::vector<column_rule> columns = cycle_table().columns;
  Napi::Array array = Napi::Array::New(env, columns.size());
  for (uint32_t i = 0; i < columns.size(); i++) {
    Napi::Object column = Napi::Object::New(env);
    column.Set("object", Napi::Number::New(env, columns[i].object));
    column.Set("bytes", Napi::Number::New(env, columns[i].entry_bytes));
    column.Set("name", Napi::String::New(env, columns[i].name));
    array.Set(i, column);
  }
  return array;
}

}  // namespace understudy
