// See js_column_program.h.
#include "js_column_program.h"

#include <cstring>
#include <utility>

#include "js_typed_arrays.h"

namespace understudy {

namespace {

/// Numbers above this are a mistake, and their sums could overflow.
constexpr uint32_t count_max = 1u << 16;

typed_array read_array(const Napi::Value& value) { return read_typed_array(value, "a column program"); }

typed_array read_array(const Napi::Value& value, napi_typedarray_type type) {
  const typed_array array = read_array(value);
  if (array.type != type) throw Napi::TypeError::New(value.Env(), "a typed array is of another type");
  return array;
}

template <typename Number>
std::vector<Number> read_list(const Napi::Value& value, napi_typedarray_type type) {
  const typed_array array = read_array(value, type);
  const Number* const data = static_cast<const Number*>(array.data);
  return {data, data + array.length};
}

std::vector<column_instruction> read_code(const Napi::Value& value) {
  const typed_array array = read_array(value, napi_uint32_array);
  std::vector<column_instruction> code(array.length / 4);
  if (!code.empty()) std::memcpy(code.data(), array.data, code.size() * sizeof(column_instruction));
  return code;
}

column_program read_program(const Napi::Object& object) {
  const auto count = [&](const char* name) { return object.Get(name).As<Napi::Number>().Uint32Value(); };
  column_program program;
  program.code = read_code(object.Get("code"));
  program.constants = read_list<double>(object.Get("constants"), napi_float64_array);
  program.parameter_count = count("parameterCount");
  program.register_count = count("registerCount");
  program.column_indexes = read_list<uint32_t>(object.Get("columnIndexes"), napi_uint32_array);
  program.index_count = count("indexCount");
  program.outputs = read_list<uint32_t>(object.Get("outputs"), napi_uint32_array);
  program.missing = read_list<double>(object.Get("missing"), napi_float64_array);
  const bool small = program.parameter_count <= count_max && program.register_count <= count_max &&
                     program.index_count <= count_max;
  if (!small || !is_sound(program)) throw Napi::TypeError::New(object.Env(), "a column program is not sound");
  return program;
}

column_view read_column(const Napi::Value& value) {
  const typed_array array = read_array(value);
  switch (array.type) {
    case napi_float64_array:
      return {array.data, array.length, column_type::float64};
    case napi_uint32_array:
      return {array.data, array.length, column_type::uint32};
    case napi_uint8_array:
      return {array.data, array.length, column_type::uint8};
    default:
      throw Napi::TypeError::New(value.Env(), "a column program does not read columns of this type");
  }
}

void read_inputs(const Napi::Object& object, column_inputs& inputs) {
  inputs.row_count = object.Get("rowCount").As<Napi::Number>().Uint32Value();
  const auto columns = object.Get("columns").As<Napi::Array>();
  inputs.columns.clear();
  for (uint32_t i = 0; i < columns.Length(); i++) inputs.columns.push_back(read_column(columns.Get(i)));
  const auto indexes = object.Get("indexes").As<Napi::Array>();
  inputs.indexes.clear();
  for (uint32_t i = 0; i < indexes.Length(); i++) {
    const typed_array rows = read_array(indexes.Get(i), napi_uint32_array);
    inputs.indexes.push_back({static_cast<const uint32_t*>(rows.data), rows.length});
  }
}

}  // namespace

Napi::Function js_column_program::define(Napi::Env env) {
  return DefineClass(env, "ColumnProgram", {InstanceMethod<&js_column_program::run>("run")});
}

js_column_program::js_column_program(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<js_column_program>(info) {
  if (info.Length() < 1 || !info[0].IsObject())
    throw Napi::TypeError::New(info.Env(), "a column program is an object");
  evaluator_ = std::make_unique<column_evaluator>(read_program(info[0].As<Napi::Object>()));
}

void js_column_program::run(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 2 || !info[0].IsObject())
    throw Napi::TypeError::New(env, "run takes inputs and a matrix");
  const Napi::Object object = info[0].As<Napi::Object>();
  read_inputs(object, inputs_);
  const typed_array parameters = read_array(object.Get("parameters"), napi_float64_array);
  inputs_.parameters = static_cast<const double*>(parameters.data);
  const typed_array matrix = read_array(info[1], napi_float32_array);
  const column_program& program = evaluator_->program();
  const bool fits = inputs_.columns.size() == program.column_indexes.size() &&
                    inputs_.indexes.size() == program.index_count &&
                    parameters.length == program.parameter_count && evaluator_->fits(inputs_);
  if (!fits) throw Napi::RangeError::New(env, "the columns do not hold the rows of the program");
  if (program.outputs.size() * inputs_.row_count > matrix.length)
    throw Napi::RangeError::New(env, "the matrix is too small for the rows");
  evaluator_->run(inputs_, static_cast<float*>(matrix.data));
}

}  // namespace understudy
