// RFC 3339 date-times to instants, as contract/time.ts reads them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace understudy {

/// Whole milliseconds since 1970, and the rest as a fraction of a millisecond, 0 ≤ fraction < 1.
struct instant {
  double ms;
  double fraction;
};

/// Longest date-time accepted, as in contract/time.ts.
inline constexpr size_t date_time_bytes_max = 128;

/// The instant of the string at `text`. False when it is not a date-time, or has more digits of a second than a
/// division of two doubles turns into the fraction that JavaScript's `Number` gives.
[[nodiscard]] bool read_date_time(const uint8_t* text, size_t bytes, instant& at) noexcept;

}  // namespace understudy
