// The JavaScript interface of the row writer.
#pragma once

#include "napi.h"

namespace understudy {

/// `encodeRows(rows, before, after)` as `NativeAddon` of native-addon.ts describes it.
Napi::Value encode_js_rows(const Napi::CallbackInfo& info);

}  // namespace understudy
