// How many connections are open from one address. Of IPv6 a /64 counts as one, since that is what one customer of a
// provider has. Connections from this machine are not counted: a reverse proxy has its place there.
#pragma once
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace understudy {

class connection_counts {
 public:
  using origin = std::uint64_t;

  // Of connections that are not counted.
  static constexpr origin uncounted = 0;

  // Where a connection comes from. IPv4 addresses, mapped ones too, stand in the low half: as a /64 of IPv6 that is
  // reserved and nobody's.
  [[nodiscard]] static origin origin_of(const sockaddr *address, std::size_t size) noexcept;

  // Counts one more connection, unless `max` are open already: then false, and nothing has changed.
  [[nodiscard]] bool enter(origin from, std::size_t max);

  // Takes back an `enter` that was true.
  void leave(origin from) noexcept;

  // Addresses with open connections: what this costs in memory.
  [[nodiscard]] std::size_t size() const noexcept { return counts_.size(); }

 private:
  std::unordered_map<origin, std::size_t> counts_;
};

}  // namespace understudy
