// The JavaScript interface of the weighted means. All that comes from JavaScript is checked here.
#pragma once

#include "napi.h"

namespace understudy {

/// `weightedMeans(image, columns, rows)` as codec/native-addon.ts describes it.
Napi::Value js_weighted_means(const Napi::CallbackInfo& info);

}  // namespace understudy
