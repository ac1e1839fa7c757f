// Child processes, started without a copy of this one, and how eagerly the scheduler runs them, as JavaScript sees it.
#pragma once

#include "napi.h"

namespace understudy {

/// `startProcess(file, args, env, descriptors)`: starts `file` with these arguments (the first is its own name) and
/// variables (`NAME=value`), and returns its process id; 0 on systems where Node starts processes as well. Descriptor i
/// of the child is `descriptors[i]` of this process, or /dev/null for -1; it inherits no other. Its signals are as they
/// are by default. Nothing of this process is copied for it, as fork would do. Throws an Error with the words of the
/// system; nothing is left running then.
Napi::Value start_process(const Napi::CallbackInfo& info);

/// `reapProcess(pid)`: how a child of `startProcess` ended, and its process id is free; null while it has not.
/// 0 to 255: its exit code; -n: signal n ended it; undefined: the system does not tell.
Napi::Value reap_process(const Napi::CallbackInfo& info);

/// `createSocketPair()`: the two descriptors of a connection that nothing inherits.
Napi::Value create_socket_pair(const Napi::CallbackInfo& info);

/// `runWhenIdle(thread, idle)`: whether this thread, by its id, now runs only when a core has nothing else to do; or,
/// for `idle` false, like the thread that calls. False where the system does not know or allow it.
Napi::Value run_when_idle(const Napi::CallbackInfo& info);

}  // namespace understudy
