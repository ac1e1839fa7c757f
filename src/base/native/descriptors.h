// File descriptors of this process that its children do not inherit: the mark close-on-exec.
#pragma once

#include "napi.h"

namespace understudy {

// Marks all descriptors but the standard streams. A spawn passes those that it names to the child in any case.
void close_on_exec(const Napi::CallbackInfo& info);

}  // namespace understudy
