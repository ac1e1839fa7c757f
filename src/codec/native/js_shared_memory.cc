// See js_shared_memory.h.
#include "js_shared_memory.h"

#include <sys/mman.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include <cerrno>
#include <cstring>

namespace understudy {

namespace {

Napi::Error system_error(Napi::Env env, const char* call) {
  return Napi::Error::New(env, std::string(call) + ": " + std::strerror(errno));
}

}  // namespace

Napi::Value create_memory_file(const Napi::CallbackInfo& info) {
#ifdef __linux__
  // A child gets it as one of its standard streams; no other process may inherit it.
  const int descriptor = memfd_create("understudy-batch", MFD_CLOEXEC);
  if (descriptor < 0) throw system_error(info.Env(), "memfd_create");
#else
  const int descriptor = -1;
#endif
  return Napi::Number::New(info.Env(), descriptor);
}

Napi::Value create_event(const Napi::CallbackInfo& info) {
#ifdef __linux__
  const int descriptor = eventfd(0, EFD_CLOEXEC);
  if (descriptor < 0) throw system_error(info.Env(), "eventfd");
#else
  const int descriptor = -1;
#endif
  return Napi::Number::New(info.Env(), descriptor);
}

Napi::Value map_file(const Napi::CallbackInfo& info) {
  const int descriptor = info[0].As<Napi::Number>().Int32Value();
  const size_t bytes = static_cast<size_t>(info[1].As<Napi::Number>().Int64Value());
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) throw system_error(info.Env(), "mmap");
  return Napi::ArrayBuffer::New(info.Env(), memory, bytes,
                                [bytes](Napi::Env, void* mapped) { munmap(mapped, bytes); });
}

}  // namespace understudy
