// Decimal text of numbers in responses, byte for byte what the reference encoder writes (codec/float32-text.ts).
#pragma once

#include <cstdint>

namespace understudy {

/// The longest text: `-0.0000012345678`, `-1.23456789e-45`, or a sign and 21 digits.
inline constexpr uint32_t float_text_bytes_max = 24;

/// Writes a finite number at `out` and returns the end of its text: the shortest decimal that reads back as the same
/// float32, spelled as JavaScript spells numbers.
[[nodiscard]] char* write_float(char* out, float value) noexcept;

/// Writes an integer and returns the end of its text; at most 20 bytes.
[[nodiscard]] char* write_integer(char* out, uint64_t value) noexcept;

}  // namespace understudy
