// CRC-32, as JavaScript asks for it (see crc32.h and crc32.ts).
#pragma once

#include "napi.h"

namespace understudy {

/// The functions of `crc32_functions`, each `(bytes, value)`: of a Uint8Array, and with the CRC of the bytes before it.
Napi::Array js_crc32_functions(Napi::Env env);

}  // namespace understudy
