// Which processor threads are put on, as JavaScript asks for it (see processors.h).
#pragma once

#include "napi.h"

namespace understudy {

/// `keepElsewhere(threads)`: from now on these threads, an Int32Array, do not run on the caller's processor.
Napi::Value keep_elsewhere(const Napi::CallbackInfo& info);

/// `wakeElsewhere(threads, wake)`: the same while `wake()` runs; returns what it returns, throws what it throws.
Napi::Value wake_elsewhere(const Napi::CallbackInfo& info);

}  // namespace understudy
