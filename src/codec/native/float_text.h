// Decimal text of float32 numbers, digit for digit what `float32Text` in codec/float32-text.ts writes: the
// shortest that reads back as the same float32, spelled as JavaScript spells numbers.
#pragma once

#include <cstdint>

namespace understudy {

/// Longest text: `-0.0000012345678`, `-1.23456789e-45`, or 21 digits.
inline constexpr uint32_t float_text_bytes_max = 24;

/// Writes the text of a finite number at `out` and returns its end.
[[nodiscard]] char* write_float(char* out, float value) noexcept;

/// Writes an integer and returns its end; at most 20 bytes.
[[nodiscard]] char* write_integer(char* out, uint64_t value) noexcept;

}  // namespace understudy
