// Makes every flush to the disk take a third of a second, so that events before it can be distinguished from events
// after it. Preloaded into a process under test.
#include <dlfcn.h>
#include <unistd.h>

namespace {
constexpr useconds_t delay_us = 300'000;

int slow(const char *name, int descriptor) {
  usleep(delay_us);
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(descriptor);
}
}  // namespace

extern "C" int fdatasync(int descriptor) { return slow("fdatasync", descriptor); }
extern "C" int fsync(int descriptor) { return slow("fsync", descriptor); }
