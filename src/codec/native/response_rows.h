// Result rows as JSON: prepared texts with integers and float32 numbers between them. `native-encode.ts` prepares the
// texts and defines the members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace understudy {

/// Texts are copied in steps of this many bytes, and so need as many readable bytes after the last of them.
inline constexpr size_t text_step_bytes = 16;

/// Concatenated texts; text i ends at `ends[i]`.
struct text_table {
  const char* bytes;
  const uint32_t* ends;
  uint32_t count;

  [[nodiscard]] std::string_view operator[](uint32_t index) const noexcept {
    const uint32_t start = index == 0 ? 0 : ends[index - 1];
    return {bytes + start, ends[index] - start};
  }
};

/// A row is `keys[key] number outcomes[outcome]`; with outcome 0 its values follow, with a label between two of them, and
/// the last label at the end.
struct response_rows {
  uint32_t count;
  const uint32_t* key;
  const double* number;
  const uint8_t* outcome;
  text_table keys;
  text_table outcomes;
  /// The string after each column of `values`.
  text_table labels;
  /// Columns with an entry for each row of outcome 0.
  std::vector<const float*> values;
  uint32_t value_count;
};

/// Bytes that suffice for the rows, or 0 when the columns do not match: codes without a string, too few
/// values, or numbers that are not integers from 0 to 2^53-1 or not finite.
[[nodiscard]] size_t response_bytes_max(const response_rows& rows) noexcept;

/// Writes the rows with commas between them at `out`, which has room for `response_bytes_max`; returns the
/// end.
[[nodiscard]] char* write_rows(char* out, const response_rows& rows) noexcept;

}  // namespace understudy
