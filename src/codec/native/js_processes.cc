// See js_processes.h.
#include "js_processes.h"

#ifdef __linux__
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace understudy {

#ifdef __linux__

namespace {

void expect_done(Napi::Env env, const char* call, int error) {
  if (error != 0) throw Napi::Error::New(env, std::string(call) + ": " + std::strerror(error));
}

/// Strings of JavaScript as the array that the system wants.
class text_list {
 public:
  explicit text_list(const Napi::Array& list) {
    texts_.reserve(list.Length());
    for (uint32_t i = 0; i < list.Length(); i++) texts_.push_back(list.Get(i).As<Napi::String>());
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

/// The descriptors of a child. They are laid out from copies above all of them, so that none is overwritten before it
/// is used; no process inherits the copies.
class descriptor_layout {
 public:
  descriptor_layout(Napi::Env env, const Napi::Array& list) {
    expect_done(env, "posix_spawn_file_actions_init", posix_spawn_file_actions_init(&actions_));
    const int count = static_cast<int>(list.Length());
    for (int at = 0; at < count; at++) {
      const int given = list.Get(static_cast<uint32_t>(at)).As<Napi::Number>().Int32Value();
      if (given < 0) {
        expect_added(env, posix_spawn_file_actions_addopen(&actions_, at, "/dev/null", O_RDWR, 0));
        continue;
      }
      const int copy = fcntl(given, F_DUPFD_CLOEXEC, count);
      if (copy < 0) give_up(env, "fcntl", errno);
      copies_.push_back(copy);
      expect_added(env, posix_spawn_file_actions_adddup2(&actions_, copy, at));
    }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    // Ours are closed by exec; a library's need not be.
    expect_added(env, posix_spawn_file_actions_addclosefrom_np(&actions_, count));
#endif
  }
  descriptor_layout(const descriptor_layout&) = delete;
  descriptor_layout& operator=(const descriptor_layout&) = delete;
  ~descriptor_layout() { release(); }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  /// The list of actions grows by each, and there may be no memory for it.
  void expect_added(Napi::Env env, int error) {
    if (error != 0) give_up(env, "posix_spawn_file_actions", error);
  }

  /// Of the constructor, after which no destructor runs.
  [[noreturn]] void give_up(Napi::Env env, const char* call, int error) {
    release();
    throw Napi::Error::New(env, std::string(call) + ": " + std::strerror(error));
  }

  void release() {
    for (const int copy : copies_) close(copy);
    posix_spawn_file_actions_destroy(&actions_);
  }

  posix_spawn_file_actions_t actions_{};
  std::vector<int> copies_;
};

/// As a process has them that was started from nothing: Node ignores SIGPIPE, and would hand that on.
class default_signals {
 public:
  explicit default_signals(Napi::Env env) {
    expect_done(env, "posix_spawnattr_init", posix_spawnattr_init(&attributes_));
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  default_signals(const default_signals&) = delete;
  default_signals& operator=(const default_signals&) = delete;
  ~default_signals() { posix_spawnattr_destroy(&attributes_); }

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

Napi::Value start_process(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string file = info[0].As<Napi::String>();
  const text_list args(info[1].As<Napi::Array>());
  const text_list variables(info[2].As<Napi::Array>());
  const descriptor_layout descriptors(env, info[3].As<Napi::Array>());
  const default_signals signals(env);
  pid_t pid = 0;
  // glibc shares memory with the child until it runs the file, and waits for that: no page table is copied.
  const int error = posix_spawn(&pid, file.c_str(), descriptors.get(), signals.get(), args.get(), variables.get());
  expect_done(env, "posix_spawn", error);
  return Napi::Number::New(env, pid);
}

Napi::Value reap_process(const Napi::CallbackInfo& info) {
  const pid_t pid = info[0].As<Napi::Number>().Int32Value();
  int status = 0;
  const pid_t ended = waitpid(pid, &status, WNOHANG);
  if (ended == 0) return info.Env().Null();
  if (ended < 0) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

Napi::Value create_socket_pair(const Napi::CallbackInfo& info) {
  int ends[2] = {};
  const int error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : errno;
  expect_done(info.Env(), "socketpair", error);
  Napi::Array pair = Napi::Array::New(info.Env(), 2);
  for (uint32_t i = 0; i < 2; i++) pair.Set(i, Napi::Number::New(info.Env(), ends[i]));
  return pair;
}

Napi::Value run_when_idle(const Napi::CallbackInfo& info) {
  const pid_t thread = info[0].As<Napi::Number>().Int32Value();
  const int policy = info[1].As<Napi::Boolean>().Value() ? SCHED_IDLE : sched_getscheduler(0);
  sched_param parameters{};
  if (policy >= 0) sched_getparam(0, &parameters);
  if (policy == SCHED_IDLE) parameters.sched_priority = 0;
  return Napi::Boolean::New(info.Env(), policy >= 0 && sched_setscheduler(thread, policy, &parameters) == 0);
}

#else

// Elsewhere libuv starts processes without fork, or there is nothing better to be had.

Napi::Value start_process(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), 0); }

Napi::Value reap_process(const Napi::CallbackInfo& info) { return info.Env().Null(); }

Napi::Value create_socket_pair(const Napi::CallbackInfo& info) { return Napi::Array::New(info.Env()); }

Napi::Value run_when_idle(const Napi::CallbackInfo& info) { return Napi::Boolean::New(info.Env(), false); }

#endif

}  // namespace understudy
