// Decimal text of numbers in responses. That of a float32 has the value of the reference encoder's (codec/float32-text.ts); what
// is not a usual score may be spelled otherwise: 1e-05 and 0.00001.
#pragma once

#include <cstdint>

namespace understudy {

/// The longest text: `-1.23456789e-38`.
inline constexpr uint32_t float_text_bytes_max = 16;

/// Writes a finite number at `out` and returns the end of its text: the shortest decimal that reads back as the same
/// float32.
[[nodiscard]] char* write_float(char* out, float value) noexcept;

/// Writes an integer and returns the end of its text; at most 20 bytes.
[[nodiscard]] char* write_integer(char* out, uint64_t value) noexcept;

}  // namespace understudy
