// Interposes recv(2), accept4(2) and listen(2) for uWebSockets.js, which closes a connection when a second request arrives before
// the first is answered: here it reads no further than the end of the request at hand, so that what a client sends in
// advance waits in the kernel. The server pauses the socket until its answer is out; order and backpressure follow.
// A request line that has come in part waits there too. What waits when a connection is closed is read and thrown away: the
// kernel would reset the connection for it, and drop what is still to be sent.
// And it ends connections of an address that has as many open as it may: uWebSockets.js tells that a connection is gone,
// but not whose it was, so close(2) is watched for that. And it lets more connections wait to be accepted than the 512 of
// uWebSockets.js: past them the kernel drops what comes, and whoever it was tries again a second later. It takes them in
// a few at a time, since uWebSockets.js would take in all that wait before it turns to anyone else.
// Loaded by bin/understudy with LD_PRELOAD (Linux). Without it everything works but pipelining, trailers, extensions of
// chunks, an expectation in capitals, empty lines before a request, request lines that come in part, large answers on
// connections that are closed with bytes unread, and that limit; and a key followed by a byte from 0x80 on passes for the key
// (http_framing.cc). Under TLS there is no plain text to see here: all but the limit and those answers is missing.
#include <dlfcn.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "connection_counts.h"
#include "http_framing.h"

namespace {

using recv_function = ssize_t (*)(int, void *, std::size_t, int);
using accept4_function = int (*)(int, sockaddr *, socklen_t *, int);
using close_function = int (*)(int);
using listen_function = int (*)(int, int);

template <typename Function>
Function next_symbol(const char *name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int close_for_good(int descriptor) noexcept {
  static const auto next = next_symbol<close_function>("close");
  return next(descriptor);
}

ssize_t recv_from_kernel(int descriptor, void *buffer, std::size_t size, int flags) noexcept {
  static const auto next = next_symbol<recv_function>("recv");
  return next(descriptor, buffer, size, flags);
}

// More than the kernel keeps for a socket (tcp_rmem: 6 MiB, or 32 on newer ones), unless it is told to keep more.
constexpr std::size_t unread_bytes_max = 64 * 1024 * 1024;

void throw_away_unread(int descriptor) noexcept {
  recv_from_kernel(descriptor, nullptr, unread_bytes_max, MSG_DONTWAIT | MSG_TRUNC);
}

struct connection {
  understudy::connection_counts::origin origin;
  understudy::http_framing framing;
  // Under TLS what follows is not ours to read.
  bool opaque = false;
  // So much of a request line has come, and is left in the kernel.
  std::size_t waiting_bytes = 0;
};

struct connections {
  std::vector<std::unique_ptr<connection>> by_descriptor;
  understudy::connection_counts counts;
};

// One thread accepts, reads and closes: uWebSockets runs on the event loop only. Other threads have none. Never freed:
// the process closes descriptors until its very end, after the objects of its threads are gone.
thread_local connections *own = nullptr;

connection *find(int descriptor) noexcept {
  const auto index = static_cast<std::size_t>(descriptor);
  if (own == nullptr || descriptor < 0 || index >= own->by_descriptor.size()) return nullptr;
  return own->by_descriptor[index].get();
}

void forget(int descriptor) noexcept {
  const auto *known = find(descriptor);
  if (known == nullptr) return;
  own->counts.leave(known->origin);
  own->by_descriptor[static_cast<std::size_t>(descriptor)].reset();
}

// False: its address has too many open already.
bool remember(int descriptor, understudy::connection_counts::origin origin, std::size_t per_address_max) {
  if (own == nullptr) own = new connections;
  forget(descriptor);
  if (!own->counts.enter(origin, per_address_max)) return false;
  const auto index = static_cast<std::size_t>(descriptor);
  if (index >= own->by_descriptor.size()) own->by_descriptor.resize(index + 1);
  own->by_descriptor[index] = std::make_unique<connection>(connection{origin, {}});
  return true;
}

// The server says it here, before it listens and whenever it changes (http-shim.ts).
std::size_t per_address_max() noexcept {
  const char *text = std::getenv("HTTP_SHIM_CONNECTIONS_PER_ADDRESS_MAX");
  return text == nullptr ? SIZE_MAX : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

// Connections that are taken in without a look at those that are there. What is left is reported to be waiting again.
constexpr unsigned accepted_in_a_row_max = 32;
thread_local unsigned accepted_in_a_row = 0;

// As much as the server reads of a head (http-listener.ts).
constexpr std::size_t line_bytes_max = 128 * 1024;

// uWebSockets takes a request line whose last part has not come for a malformed one. So it is left in the kernel until it
// is whole, and the connection counts as readable when more of it is there than `seen`; true: there is nothing to read yet.
bool waits_for_line(int descriptor, connection &known, const char *data, std::size_t seen) noexcept {
  const bool is_whole = !known.framing.at_start() || std::memchr(data, '\n', seen) != nullptr;
  // It also counts as readable, with no more, when the client has ended it.
  const bool waits = !is_whole && seen > known.waiting_bytes && seen < line_bytes_max;
  if (!waits && known.waiting_bytes == 0) return false;
  known.waiting_bytes = waits ? seen : 0;
  const int enough = static_cast<int>(known.waiting_bytes) + 1;
  return setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &enough, sizeof enough) == 0 && waits;
}

// As the first byte of a connection, 0x16 begins a TLS handshake. Anywhere else it is a byte like any other.
constexpr char tls_handshake = 0x16;

}  // namespace

extern "C" int accept4(int listener, sockaddr *address, socklen_t *size, int flags) {
  static const auto next = next_symbol<accept4_function>("accept4");
  const socklen_t room = size == nullptr ? 0 : *size;
  for (;;) {
    if (accepted_in_a_row == accepted_in_a_row_max) {
      accepted_in_a_row = 0;
      errno = EAGAIN;
      return -1;
    }
    if (size != nullptr) *size = room;
    const int descriptor = next(listener, address, size, flags);
    if (descriptor < 0) {
      accepted_in_a_row = 0;
      return descriptor;
    }
    accepted_in_a_row++;
    const auto origin = understudy::connection_counts::origin_of(address, size == nullptr ? 0 : std::min(*size, room));
    if (remember(descriptor, origin, per_address_max())) return descriptor;
    close_for_good(descriptor);
  }
}

extern "C" int listen(int listener, int waiting_max) {
  static const auto next = next_symbol<listen_function>("listen");
  return next(listener, std::max(waiting_max, SOMAXCONN));
}

extern "C" int close(int descriptor) {
  if (find(descriptor) != nullptr) throw_away_unread(descriptor);
  forget(descriptor);
  return close_for_good(descriptor);
}

extern "C" ssize_t recv(int descriptor, void *buffer, std::size_t size, int flags) {
  auto *known = find(descriptor);
  constexpr std::size_t added_max = understudy::http_framing::added_bytes_max;
  if (known == nullptr || known->opaque || (flags & MSG_PEEK) != 0 || size <= added_max) {
    return recv_from_kernel(descriptor, buffer, size, flags);
  }
  auto &framing = known->framing;
  if (const auto left = framing.body_bytes_left(); left > 0) {
    const ssize_t got = recv_from_kernel(descriptor, buffer, static_cast<std::size_t>(std::min<std::uint64_t>(size, left)), flags);
    if (got > 0) framing.skip_body(static_cast<std::uint64_t>(got));
    return got;
  }
  const ssize_t seen = recv_from_kernel(descriptor, buffer, size - added_max, flags | MSG_PEEK);
  if (seen <= 0) return seen;
  auto *data = static_cast<char *>(buffer);
  if (framing.fresh() && data[0] == tls_handshake) {
    known->opaque = true;
    return recv_from_kernel(descriptor, buffer, size, flags);
  }
  if (waits_for_line(descriptor, *known, data, static_cast<std::size_t>(seen))) {
    errno = EAGAIN;
    return -1;
  }
  // What was peeked at stays in the buffer, with its changes; taking it out of the kernel needs no second look.
  const auto [taken, kept] = framing.advance(data, static_cast<std::size_t>(seen));
  const ssize_t got = recv_from_kernel(descriptor, nullptr, taken, flags | MSG_TRUNC);
  if (got < 0 || kept > 0) return got < 0 ? got : static_cast<ssize_t>(kept);
  // 0 would be the end of the connection.
  errno = EAGAIN;
  return -1;
}
