// Typed arrays of JavaScript, whatever memory they are over.
#pragma once

#include <cstddef>

#include "napi.h"

namespace understudy {

struct typed_array {
  napi_typedarray_type type;
  size_t length;
  void* data;
};

/// Also one over a SharedArrayBuffer. Throws a TypeError, with `what` needs it, for anything else.
inline typed_array read_typed_array(const Napi::Value& value, const char* what) {
  typed_array array;
  if (!value.IsTypedArray() ||
      napi_get_typedarray_info(value.Env(), value, &array.type, &array.length, &array.data, nullptr, nullptr) !=
          napi_ok)
    throw Napi::TypeError::New(value.Env(), std::string(what) + " needs a typed array here");
  return array;
}

}  // namespace understudy
