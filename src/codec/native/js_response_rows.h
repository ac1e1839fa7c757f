// The JavaScript interface of the row writer.
#pragma once

#include "napi.h"

namespace understudy {

/// Both take `(rows)`, an object as `NativeRows` in native-addon.ts describes it.
/// `rowsBytesMax(rows)`: bytes that suffice, 0 when the columns do not fit together.
Napi::Value rows_bytes_max(const Napi::CallbackInfo& info);

/// `writeRows(rows, out: Uint8Array, start: number)`: writes from `start` on, returns where the rows end.
/// Throws a RangeError when `out` is too small.
Napi::Value write_js_rows(const Napi::CallbackInfo& info);

}  // namespace understudy
