// Packed columns, as JavaScript asks for them (see packed_columns.h and pack.ts).
#pragma once

#include "napi.h"

namespace understudy {

/// `packColumns(columns, rowCount, out, start)`: writes columns one behind the other from `start` of `out`, a multiple of
/// 8, and returns where they end. Throws where a column has fewer rows, or `out` no room for the widest form of all.
Napi::Value pack_columns(const Napi::CallbackInfo& info);

}  // namespace understudy
