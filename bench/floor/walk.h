// simdjson's On-Demand parser visits every value of a body. It parses numbers and finds strings without
// unescaping them: a lower bound for any decoder. It uses error codes, because exceptions doubled the time of a walk (4.9
// against 2.3 ms for a full cycle).
#pragma once
#include <cstdint>

#include "simdjson.h"

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

/// The visited values. The programs print them, so that the compiler cannot remove the visit.
struct tally {
  uint64_t values = 0;
  uint64_t sum = 0;
};

inline error_code visit(ondemand::value value, tally& seen);

inline error_code visit_members(ondemand::object object, tally& seen) {
  for (auto field : object) {
    ondemand::raw_json_string key;
    SIMDJSON_TRY(field.key().get(key));
    seen.sum += static_cast<uint8_t>(key.raw()[0]);
    ondemand::value member;
    SIMDJSON_TRY(field.value().get(member));
    SIMDJSON_TRY(visit(member, seen));
  }
  return simdjson::SUCCESS;
}

inline error_code visit_elements(ondemand::array array, tally& seen) {
  for (auto element : array) {
    ondemand::value item;
    SIMDJSON_TRY(element.get(item));
    SIMDJSON_TRY(visit(item, seen));
  }
  return simdjson::SUCCESS;
}

/// Bodies of the bench hold objects, arrays, strings, integers and null.
inline error_code visit(ondemand::value value, tally& seen) {
  seen.values++;
  switch (value.raw_json_token()[0]) {
    case '{': {
      ondemand::object object;
      SIMDJSON_TRY(value.get_object().get(object));
      return visit_members(object, seen);
    }
    case '[': {
      ondemand::array array;
      SIMDJSON_TRY(value.get_array().get(array));
      return visit_elements(array, seen);
    }
    case '"': {
      ondemand::raw_json_string text;
      SIMDJSON_TRY(value.get_raw_json_string().get(text));
      seen.sum += static_cast<uint8_t>(text.raw()[0]);
      return simdjson::SUCCESS;
    }
    case 'n':
      return value.is_null() ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
    default: {
      int64_t number;
      SIMDJSON_TRY(value.get_int64().get(number));
      seen.sum += static_cast<uint64_t>(number);
      return simdjson::SUCCESS;
    }
  }
}

inline error_code walk(ondemand::parser& parser, simdjson::padded_string_view body, tally& seen) {
  ondemand::document document;
  SIMDJSON_TRY(parser.iterate(body).get(document));
  ondemand::object root;
  SIMDJSON_TRY(document.get_object().get(root));
  return visit_members(root, seen);
}
