// Memory that two processes share, and how one wakes the other, as JavaScript sees it.
#pragma once

#include "napi.h"

namespace understudy {

/// `createMemoryFile()`: the descriptor of an empty file that exists in memory alone and has no name; -1 on systems
/// that have no such files. Throws an Error with the words of the system.
Napi::Value create_memory_file(const Napi::CallbackInfo& info);

/// `createEvent()`: the descriptor of an event counter (eventfd): a read of 8 bytes waits until something was written;
/// -1 on systems that have none. Throws an Error with the words of the system.
Napi::Value create_event(const Napi::CallbackInfo& info);

/// `mapFile(descriptor, bytes)`: an ArrayBuffer over the first bytes of the file, shared with every process that maps
/// it. The file must be that long: memory beyond its end must not be touched. Unmapped when collected.
Napi::Value map_file(const Napi::CallbackInfo& info);

}  // namespace understudy
