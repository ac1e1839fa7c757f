// Bodies of connection_counts.h.
#include "connection_counts.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace understudy {
namespace {

// `bytes` in network order.
connection_counts::origin number_of(const unsigned char *bytes, std::size_t size) noexcept {
  connection_counts::origin number = 0;
  for (std::size_t i = 0; i < size; i++) number = number << 8 | bytes[i];
  return number;
}

connection_counts::origin of_ipv4(const unsigned char *bytes) noexcept {
  constexpr unsigned char loopback = 127;
  return bytes[0] == loopback ? connection_counts::uncounted : number_of(bytes, 4);
}

connection_counts::origin of_ipv6(const unsigned char *bytes) noexcept {
  static constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(bytes, mapped, sizeof mapped) == 0) return of_ipv4(bytes + sizeof mapped);
  // ::1 lies in ::/64, whose number is that of `uncounted`.
  return number_of(bytes, 8);
}

}  // namespace

connection_counts::origin connection_counts::origin_of(const sockaddr *address, std::size_t size) noexcept {
  if (address == nullptr || size < sizeof(sa_family_t)) return uncounted;
  unsigned char bytes[16];
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    std::memcpy(bytes, &reinterpret_cast<const sockaddr_in *>(address)->sin_addr, 4);
    return of_ipv4(bytes);
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    std::memcpy(bytes, &reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr, 16);
    return of_ipv6(bytes);
  }
  return uncounted;
}

bool connection_counts::enter(origin from, std::size_t max) {
  if (from == uncounted) return true;
  const auto known = counts_.find(from);
  if (known == counts_.end()) {
    if (max == 0) return false;
    counts_.emplace(from, 1);
    return true;
  }
  if (known->second >= max) return false;
  known->second++;
  return true;
}

void connection_counts::leave(origin from) noexcept {
  const auto known = counts_.find(from);
  if (known != counts_.end() && --known->second == 0) counts_.erase(known);
}

}  // namespace understudy
