// Makes fsync fail on directories with the error number in DIRECTORY_SYNC_ERROR, as some file systems do. Regular files are
// flushed. Preloaded into a process under test.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {
bool fails(int descriptor) {
  static const char *const error = getenv("DIRECTORY_SYNC_ERROR");
  struct stat file{};
  if (error == nullptr || fstat(descriptor, &file) != 0 || !S_ISDIR(file.st_mode)) return false;
  errno = atoi(error);
  return true;
}

int sync_with(const char *name, int descriptor) {
  if (fails(descriptor)) return -1;
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(descriptor);
}
}  // namespace

extern "C" int fsync(int descriptor) { return sync_with("fsync", descriptor); }
extern "C" int fdatasync(int descriptor) { return sync_with("fdatasync", descriptor); }
