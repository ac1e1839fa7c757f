// The end of this process.
#pragma once

#include "napi.h"

namespace understudy {

// Ends the process with the exit code of the first argument. `exit` would wait for the threads of libuv's pool, and one that
// reads from a volume that does not respond never ends.
void end_process(const Napi::CallbackInfo& info);

}  // namespace understudy
