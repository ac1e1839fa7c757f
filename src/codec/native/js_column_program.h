// The JavaScript interface of column programs. All that comes from JavaScript is checked here.
#pragma once

#include "napi.h"

namespace understudy {

/// `runColumns(program, inputs, matrix)` as codec/column-program.ts describes it. Throws a RangeError, and writes nothing,
/// when they do not match.
void run_js_columns(const Napi::CallbackInfo& info);

}  // namespace understudy
