// See js_mapped_pages.h.
#include "js_mapped_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace understudy {

Napi::Value release_mapped_pages(const Napi::CallbackInfo& info) {
  uint64_t released = 0;
#ifdef __linux__
  const std::string path = info[0].As<Napi::String>();
  std::ifstream maps("/proc/self/maps");
  std::string line;
  // 7e9be7000000-7f9be7000000 r--s 00000000 fe:00 4489398                    /var/lib/understudy/understudy.mdb
  while (std::getline(maps, line)) {
    // Looked up at each call: what stands at an address now need not have stood there before, and of private memory
    // this very call would destroy the contents.
    if (line.size() < path.size() || line.compare(line.size() - path.size(), path.size(), path) != 0) continue;
    unsigned long long start = 0;
    unsigned long long end = 0;
    char access[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %*s %*s %*s %n", &start, &end, access, &path_at) != 3) continue;
    if (std::strcmp(access, "r--s") != 0 || line.compare(static_cast<size_t>(path_at), std::string::npos, path) != 0)
      continue;
    if (madvise(reinterpret_cast<void*>(static_cast<uintptr_t>(start)), end - start, MADV_DONTNEED) == 0)
      released += end - start;
  }
#endif
  return Napi::Number::New(info.Env(), static_cast<double>(released));
}

}  // namespace understudy
