// Shared by the preloaded shims: which descriptors refer to the watched file, and the C library functions that they wrap.
// A descriptor refers to the watched file when its device and inode are those of the path in WATCHED_FILE.
#pragma once
#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>

inline bool is_watched(int descriptor) {
  static const char *const path = getenv("WATCHED_FILE");
  struct stat file{}, watched{};
  return path != nullptr && fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) && stat(path, &watched) == 0 &&
         file.st_dev == watched.st_dev && file.st_ino == watched.st_ino;
}

// The next definition of a function after this library: that of the C library.
template <typename Function>
Function *next_of(Function *, const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}
