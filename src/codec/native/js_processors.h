// Which processor threads are put on, as JavaScript asks for it (see processors.h).
#pragma once

#include "napi.h"

namespace understudy {

/// `keepElsewhere(threads)`: from now on these threads, an Int32Array, may run where the caller may, but not on the
/// processor on which it is.
Napi::Value keep_elsewhere(const Napi::CallbackInfo& info);

/// `wakeElsewhere(threads, wake)`: while `wake()` runs, these threads do not run on the caller's processor; then they may
/// run where they could before. Returns what it returns, throws what it throws.
Napi::Value wake_elsewhere(const Napi::CallbackInfo& info);

}  // namespace understudy
