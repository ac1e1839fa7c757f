// The walk of walk.h as a Node addon, for server.ts: `walk(buffer, byteCount)` visits every value of a cycle and returns the
// number of its readings. The buffer must have at least simdjson::SIMDJSON_PADDING bytes after the body.
#include "walk.h"

#include <node_api.h>

namespace {

error_code walk_cycle(ondemand::parser& parser, simdjson::padded_string_view body, uint32_t& reading_count) {
  ondemand::document document;
  SIMDJSON_TRY(parser.iterate(body).get(document));
  ondemand::object root;
  SIMDJSON_TRY(document.get_object().get(root));
  tally seen;
  for (auto field : root) {
    ondemand::raw_json_string key;
    SIMDJSON_TRY(field.key().get(key));
    ondemand::value member;
    SIMDJSON_TRY(field.value().get(member));
    if (!key.unsafe_is_equal("engagement")) {
      SIMDJSON_TRY(visit(member, seen));
      continue;
    }
    ondemand::array readings;
    SIMDJSON_TRY(member.get_array().get(readings));
    for (auto reading : readings) {
      ondemand::value row;
      SIMDJSON_TRY(reading.get(row));
      SIMDJSON_TRY(visit(row, seen));
      reading_count++;
    }
  }
  return simdjson::SUCCESS;
}

napi_value walk(napi_env env, napi_callback_info info) {
  static ondemand::parser parser;
  size_t argument_count = 2;
  napi_value arguments[2];
  void* bytes = nullptr;
  size_t capacity = 0;
  uint32_t byte_count = 0;
  if (napi_get_cb_info(env, info, &argument_count, arguments, nullptr, nullptr) != napi_ok ||
      napi_get_buffer_info(env, arguments[0], &bytes, &capacity) != napi_ok ||
      napi_get_value_uint32(env, arguments[1], &byte_count) != napi_ok ||
      byte_count + simdjson::SIMDJSON_PADDING > capacity) {
    napi_throw_error(env, nullptr, "walk takes a buffer and a number of bytes, with padding after them");
    return nullptr;
  }
  uint32_t reading_count = 0;
  const simdjson::padded_string_view body(static_cast<const char*>(bytes), byte_count, capacity);
  const error_code error = walk_cycle(parser, body, reading_count);
  if (error) {
    napi_throw_error(env, nullptr, simdjson::error_message(error));
    return nullptr;
  }
  napi_value result = nullptr;
  napi_create_uint32(env, reading_count, &result);
  return result;
}

napi_value init(napi_env env, napi_value exports) {
  napi_value function = nullptr;
  napi_create_function(env, "walk", NAPI_AUTO_LENGTH, walk, nullptr, &function);
  napi_set_named_property(env, exports, "walk", function);
  return exports;
}

}  // namespace

NAPI_MODULE(walk, init)
