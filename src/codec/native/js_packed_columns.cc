// See js_packed_columns.h.
#include "js_packed_columns.h"

#include "js_typed_arrays.h"
#include "packed_columns.h"

namespace understudy {

namespace {

constexpr const char* packing = "packing columns";

uint8_t* write_column(Napi::Env env, const typed_array& column, size_t row_count, uint8_t* out) {
  if (column.length < row_count) throw Napi::RangeError::New(env, "a column has fewer rows than its table");
  switch (column.type) {
    case napi_float64_array:
      return write_packed_column(static_cast<const double*>(column.data), row_count, out);
    case napi_uint32_array:
      return write_packed_column(static_cast<const uint32_t*>(column.data), row_count, out);
    case napi_uint8_array:
      return write_packed_column(static_cast<const uint8_t*>(column.data), row_count, out);
    default:
      throw Napi::TypeError::New(env, "columns of this type are not packed");
  }
}

}  // namespace

Napi::Value pack_columns(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto columns = info[0].As<Napi::Array>();
  const size_t row_count = info[1].As<Napi::Number>().Uint32Value();
  const typed_array out = read_typed_array(info[2], packing);
  const size_t start = info[3].As<Napi::Number>().Uint32Value();
  const size_t bytes_max = columns.Length() * packed_column_bytes_max(row_count + 1);
  uint8_t* const front = static_cast<uint8_t*>(out.data);
  if (out.type != napi_uint8_array || start > out.length || out.length - start < bytes_max ||
      reinterpret_cast<uintptr_t>(front + start) % sizeof(double) != 0)
    throw Napi::RangeError::New(env, "there is no room for packed columns");
  uint8_t* at = front + start;
  for (uint32_t i = 0; i < columns.Length(); i++)
    at = write_column(env, read_typed_array(columns.Get(i), packing), row_count, at);
  return Napi::Number::New(env, static_cast<double>(at - front));
}

}  // namespace understudy
