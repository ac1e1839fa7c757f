// See js_processors.h.
#include "js_processors.h"

#include "processors.h"

namespace understudy {

namespace {

template <typename change>
void for_each(const Napi::Int32Array& threads, change what) {
  for (size_t i = 0; i < threads.ElementLength(); i++) what(threads[i]);
}

/// Ends it also when `wake` throws. It holds no memory of the array, which `wake` could detach.
class all_woken_elsewhere {
 public:
  explicit all_woken_elsewhere(const Napi::Int32Array& threads) : threads_(threads) {
    for_each(threads_, keep_off_own_processor);
  }
  all_woken_elsewhere(const all_woken_elsewhere&) = delete;
  all_woken_elsewhere& operator=(const all_woken_elsewhere&) = delete;
  ~all_woken_elsewhere() { for_each(threads_, let_run_anywhere); }

 private:
  const Napi::Int32Array& threads_;
};

}  // namespace

Napi::Value keep_elsewhere(const Napi::CallbackInfo& info) {
  for_each(info[0].As<Napi::Int32Array>(), keep_off_own_processor);
  return info.Env().Undefined();
}

Napi::Value wake_elsewhere(const Napi::CallbackInfo& info) {
  const Napi::Int32Array threads = info[0].As<Napi::Int32Array>();
  const all_woken_elsewhere woken(threads);
  return info[1].As<Napi::Function>().Call({});
}

}  // namespace understudy
