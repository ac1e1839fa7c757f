// See js_response_rows.h.
#include "js_response_rows.h"

#include <algorithm>
#include <limits>

#include "response_rows.h"

namespace understudy {

namespace {

/// `{ bytes: Uint8Array, ends: Uint32Array }`. The ends must ascend, and readable bytes must follow the last one.
text_table read_table(const Napi::Value& value) {
  const Napi::Object table = value.As<Napi::Object>();
  const auto bytes = table.Get("bytes").As<Napi::Uint8Array>();
  const auto ends = table.Get("ends").As<Napi::Uint32Array>();
  const uint32_t count = static_cast<uint32_t>(ends.ElementLength());
  const size_t end = count == 0 ? 0 : ends[count - 1];
  if (!std::is_sorted(ends.Data(), ends.Data() + count) || end + text_step_bytes > bytes.ByteLength())
    throw Napi::RangeError::New(value.Env(), "texts end beyond their bytes");
  return {reinterpret_cast<const char*>(bytes.Data()), ends.Data(), count};
}

response_rows read_rows(const Napi::Value& value) {
  const Napi::Object object = value.As<Napi::Object>();
  const auto key = object.Get("key").As<Napi::Uint32Array>();
  const auto number = object.Get("number").As<Napi::Float64Array>();
  const auto outcome = object.Get("outcome").As<Napi::Uint8Array>();
  const uint32_t count = object.Get("count").As<Napi::Number>().Uint32Value();
  response_rows rows = {};
  rows.count = count;
  rows.key = key.Data();
  rows.number = number.Data();
  rows.outcome = outcome.Data();
  rows.keys = read_table(object.Get("keys"));
  rows.outcomes = read_table(object.Get("outcomes"));
  rows.labels = read_table(object.Get("labels"));
  rows.value_count = std::numeric_limits<uint32_t>::max();
  const auto values = object.Get("values").As<Napi::Array>();
  for (uint32_t i = 0; i < values.Length(); i++) {
    const auto column = values.Get(i).As<Napi::Float32Array>();
    rows.values.push_back(column.Data());
    rows.value_count = std::min(rows.value_count, static_cast<uint32_t>(column.ElementLength()));
  }
  const bool fits =
      key.ElementLength() >= count && number.ElementLength() >= count && outcome.ElementLength() >= count;
  if (!fits || rows.labels.count == 0 || rows.labels.count != rows.values.size()) {
    throw Napi::RangeError::New(value.Env(), "the columns of the rows do not match");
  }
  return rows;
}

}  // namespace

Napi::Value encode_js_rows(const Napi::CallbackInfo& info) {
  const response_rows rows = read_rows(info[0]);
  const size_t before = info[1].As<Napi::Number>().Uint32Value();
  const size_t after = info[2].As<Napi::Number>().Uint32Value();
  const size_t rows_bytes_max = response_bytes_max(rows);
  if (rows_bytes_max == 0)
    throw Napi::RangeError::New(info.Env(), "the rows have numbers that JSON does not have, or columns that do not match");
  // Pages of the upper bound that are not written take no memory.
  auto buffer = Napi::Buffer<char>::New(info.Env(), before + rows_bytes_max + after);
  const char* end = write_rows(buffer.Data() + before, rows);
  const size_t bytes = static_cast<size_t>(end - buffer.Data()) + after;
  return Napi::Uint8Array::New(info.Env(), bytes, buffer.ArrayBuffer(), buffer.ByteOffset());
}

}  // namespace understudy
