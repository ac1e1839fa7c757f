// See js_processors.h.
#include "js_processors.h"

#include <deque>
#include <vector>

#include "processors.h"

namespace understudy {

namespace {

/// A copy: the memory of the array may be another one when `wake` returns.
std::vector<thread_number> numbers_of(const Napi::Value& threads) {
  const auto list = threads.As<Napi::Int32Array>();
  return {list.Data(), list.Data() + list.ElementLength()};
}

}  // namespace

Napi::Value keep_elsewhere(const Napi::CallbackInfo& info) {
  for (const thread_number thread : numbers_of(info[0])) keep_off_own_processor(thread);
  return info.Env().Undefined();
}

Napi::Value wake_elsewhere(const Napi::CallbackInfo& info) {
  // They end when this function does, also when `wake` throws.
  std::deque<woken_elsewhere> woken;
  for (const thread_number thread : numbers_of(info[0])) woken.emplace_back(thread);
  return info[1].As<Napi::Function>().Call({});
}

}  // namespace understudy
