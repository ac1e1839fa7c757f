// The addon: everything that the native codec exports to JavaScript; native-addon.ts has the types.
#include <iterator>

#include "column_program.h"
#include "descriptors.h"
#include "js_column_program.h"
#include "js_decoder.h"
#include "js_response_rows.h"
#include "js_weighted_means.h"
#include "napi.h"
#include "process.h"
#include "text_measures.h"

namespace understudy {

namespace {

template <size_t count>
Napi::Array texts(Napi::Env env, const char* const (&list)[count]) {
  Napi::Array array = Napi::Array::New(env, count);
  for (uint32_t i = 0; i < count; i++) array.Set(i, Napi::String::New(env, list[i]));
  return array;
}

Napi::Object start(Napi::Env env, Napi::Object exports) {
  // Changes with every change of this list, in native-addon.ts as well.
  exports.Set("interfaceVersion", Napi::Number::New(env, 9));
  exports.Set("shapeHash", Napi::String::New(env, cycle_shape_hash));
  exports.Set("decodeColumns", decode_columns(env));
  exports.Set("Decoder", js_decoder::define(env));
  exports.Set("runColumns", Napi::Function::New<run_js_columns>(env));
  exports.Set("columnOperations", texts(env, column_operation_names));
  exports.Set("encodeRows", Napi::Function::New<encode_js_rows>(env));
  exports.Set("textMeasureNames", texts(env, text_measure_names));
  // Used by src/base and src/model/image.
  exports.Set("closeOnExec", Napi::Function::New<close_on_exec>(env));
  exports.Set("endProcess", Napi::Function::New<end_process>(env));
  exports.Set("weightedMeans", Napi::Function::New<js_weighted_means>(env));
  exports.Set("bodyPaddingBytes", Napi::Number::New(env, body_padding_bytes));
  return exports;
}

}  // namespace

NODE_API_MODULE(understudy_codec, start)

}  // namespace understudy
