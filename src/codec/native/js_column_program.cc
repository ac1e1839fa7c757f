// See js_column_program.h.
#include "js_column_program.h"

#include "column_program.h"

namespace understudy {

namespace {

/// Far more than the catalogue needs: anything larger is a mistake.
constexpr size_t values_max = 1u << 16;

constexpr const char* mismatch_message = "the column program does not match its inputs";

struct typed_array {
  napi_typedarray_type type;
  size_t length;
  void* data;
};

/// Also one over a SharedArrayBuffer.
typed_array read_array(const Napi::Value& value) {
  typed_array array;
  if (!value.IsTypedArray() || napi_get_typedarray_info(value.Env(), value, &array.type, &array.length, &array.data,
                                                        nullptr, nullptr) != napi_ok)
    throw Napi::TypeError::New(value.Env(), "a column program needs a typed array here");
  return array;
}

template <typename Value>
list_view<Value> read_list(const Napi::Value& value, napi_typedarray_type type) {
  const typed_array array = read_array(value);
  if (array.type != type) throw Napi::TypeError::New(value.Env(), "a typed array is of another type");
  return {static_cast<const Value*>(array.data), array.length};
}

column_type column_type_of(const Napi::Value& value, napi_typedarray_type type) {
  switch (type) {
    case napi_float64_array:
      return column_type::float64;
    case napi_uint32_array:
      return column_type::uint32;
    case napi_uint8_array:
      return column_type::uint8;
    default:
      throw Napi::TypeError::New(value.Env(), "a column program does not read columns of this type");
  }
}

column_program read_program(const Napi::Object& program, const Napi::Object& inputs) {
  const auto code = read_list<uint32_t>(program.Get("code"), napi_uint32_array);
  const auto column_indexes = read_list<uint32_t>(program.Get("columnIndexes"), napi_uint32_array);
  const auto columns = inputs.Get("columns").As<Napi::Array>();
  if (code.length % 3 != 0 || columns.Length() != column_indexes.length)
    throw Napi::RangeError::New(program.Env(), mismatch_message);
  column_program result = {};
  result.row_count = inputs.Get("rowCount").As<Napi::Number>().Uint32Value();
  result.code = {reinterpret_cast<const column_instruction*>(code.data), code.length / 3};
  result.constants = read_list<double>(inputs.Get("constants"), napi_float64_array);
  result.outputs = read_list<uint32_t>(program.Get("outputs"), napi_uint32_array);
  const auto indexes = inputs.Get("indexes").As<Napi::Array>();
  for (uint32_t i = 0; i < columns.Length(); i++) {
    const Napi::Value column = columns.Get(i);
    const typed_array array = read_array(column);
    result.columns.push_back({array.data, array.length, column_type_of(column, array.type), column_indexes.data[i]});
  }
  for (uint32_t i = 0; i < indexes.Length(); i++)
    result.indexes.push_back(read_list<uint32_t>(indexes.Get(i), napi_uint32_array));
  return result;
}

}  // namespace

void run_js_columns(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 3 || !info[0].IsObject() || !info[1].IsObject())
    throw Napi::TypeError::New(env, "runColumns takes a program, inputs and a matrix");
  const column_program program = read_program(info[0].As<Napi::Object>(), info[1].As<Napi::Object>());
  const typed_array matrix = read_array(info[2]);
  if (matrix.type != napi_float32_array) throw Napi::TypeError::New(env, "the matrix is of another type");
  if (program.code.length + program.constants.length > values_max || !is_sound(program))
    throw Napi::RangeError::New(env, mismatch_message);
  if (program.outputs.length * program.row_count > matrix.length)
    throw Napi::RangeError::New(env, "the matrix is too small for the rows");
  run_columns(program, static_cast<float*>(matrix.data));
}

}  // namespace understudy
