// Interposes recv(2) and accept4(2) for uWebSockets.js, which closes a connection when a second request arrives before
// the first is answered: here it reads no further than the end of the request at hand, so that what a client sends in
// advance waits in the kernel. The server pauses the socket until its answer is out; order and backpressure follow.
// Loaded by bin/understudy with LD_PRELOAD (Linux). Without it everything works but pipelining, and a key followed by a
// byte from 0x80 on passes for the key (http_framing.cc). Under TLS there is no plain text to see here: the same two are
// missing.
#include <dlfcn.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "http_framing.h"

namespace {

using recv_function = ssize_t (*)(int, void *, std::size_t, int);
using accept4_function = int (*)(int, sockaddr *, socklen_t *, int);

template <typename Function>
Function next_symbol(const char *name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Framing by descriptor. One thread accepts and reads: uWebSockets runs on the event loop only.
thread_local std::vector<std::unique_ptr<understudy::http_framing>> connections;

understudy::http_framing *framing_of(int descriptor) noexcept {
  const auto index = static_cast<std::size_t>(descriptor);
  return descriptor >= 0 && index < connections.size() ? connections[index].get() : nullptr;
}

// As the first byte of a connection, 0x16 begins a TLS handshake: what follows is not ours to read. Anywhere else it is
// a byte like any other.
constexpr char tls_handshake = 0x16;

}  // namespace

extern "C" int accept4(int listener, sockaddr *address, socklen_t *size, int flags) {
  static const auto next = next_symbol<accept4_function>("accept4");
  const int descriptor = next(listener, address, size, flags);
  if (descriptor < 0) return descriptor;
  const auto index = static_cast<std::size_t>(descriptor);
  if (index >= connections.size()) connections.resize(index + 1);
  connections[index] = std::make_unique<understudy::http_framing>();
  return descriptor;
}

extern "C" ssize_t recv(int descriptor, void *buffer, std::size_t size, int flags) {
  static const auto next = next_symbol<recv_function>("recv");
  auto *framing = framing_of(descriptor);
  if (framing == nullptr || (flags & MSG_PEEK) != 0 || size == 0) return next(descriptor, buffer, size, flags);
  if (const auto left = framing->body_bytes_left(); left > 0) {
    const ssize_t got = next(descriptor, buffer, static_cast<std::size_t>(std::min<std::uint64_t>(size, left)), flags);
    if (got > 0) framing->skip_body(static_cast<std::uint64_t>(got));
    return got;
  }
  const ssize_t seen = next(descriptor, buffer, size, flags | MSG_PEEK);
  if (seen <= 0) return seen;
  auto *data = static_cast<char *>(buffer);
  if (framing->fresh() && data[0] == tls_handshake) {
    connections[static_cast<std::size_t>(descriptor)].reset();
    return next(descriptor, buffer, size, flags);
  }
  // What was peeked at stays in the buffer, with its changes; taking it out of the kernel needs no second look.
  const std::size_t taken = framing->advance(data, static_cast<std::size_t>(seen));
  return next(descriptor, nullptr, taken, flags | MSG_TRUNC);
}
