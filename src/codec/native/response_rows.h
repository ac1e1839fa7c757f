// Result rows as JSON: texts that were made once, integers and float32 numbers between them. It knows columns
// and texts, not what they mean; `native-encode.ts` makes the texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace understudy {

/// Texts are copied in steps of this many bytes, and so need as many readable bytes behind the last of them.
inline constexpr size_t text_step_bytes = 16;

/// Texts laid end to end; text i ends at `ends[i]`.
struct text_table {
  const char* bytes;
  const uint32_t* ends;
  uint32_t count;

  [[nodiscard]] std::string_view operator[](uint32_t index) const noexcept {
    const uint32_t start = index == 0 ? 0 : ends[index - 1];
    return {bytes + start, ends[index] - start};
  }
};

/// What rows are made of: `keys[key] number outcomes[outcome]`, and for outcome 0 then `value 0`, and for
/// each further value its label and itself, then `tail`.
struct response_rows {
  uint32_t count;
  const uint32_t* key;
  const double* number;
  const uint8_t* outcome;
  text_table keys;
  text_table outcomes;
  /// One label a column of `values` but the first, then the tail.
  text_table labels;
  /// Columns with one entry a row of outcome 0.
  std::vector<const float*> values;
  uint32_t value_count;
};

/// Bytes that suffice for the rows, or 0 when the columns do not fit together: codes without a text, too few
/// values, numbers that are no integers from 0 to 2^53-1 or not finite.
[[nodiscard]] size_t response_bytes_max(const response_rows& rows) noexcept;

/// Writes the rows with commas between them at `out`, which has room for `response_bytes_max`; returns the
/// end.
[[nodiscard]] char* write_rows(char* out, const response_rows& rows) noexcept;

}  // namespace understudy
