// See js_crc32.h.
#include "js_crc32.h"

#include "crc32.h"
#include "js_typed_arrays.h"

namespace understudy {

Napi::Array js_crc32_functions(Napi::Env env) {
  Napi::Array functions = Napi::Array::New(env);
  for (const crc32_function function : crc32_functions()) {
    const auto call = [function](const Napi::CallbackInfo& info) -> Napi::Value {
      const typed_array bytes = read_typed_array(info[0], "CRC-32");
      if (bytes.type != napi_uint8_array) throw Napi::TypeError::New(info.Env(), "CRC-32 is of bytes");
      const uint32_t value = info[1].As<Napi::Number>().Uint32Value();
      return Napi::Number::New(info.Env(), function(static_cast<const uint8_t*>(bytes.data), bytes.length, value));
    };
    functions.Set(functions.Length(), Napi::Function::New(env, call));
  }
  return functions;
}

}  // namespace understudy
