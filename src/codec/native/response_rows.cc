// See response_rows.h.
#include "response_rows.h"

#include <cmath>
#include <cstring>

#include "float_text.h"

namespace understudy {

namespace {

constexpr double integer_max = 9007199254740991;
constexpr size_t integer_bytes_max = 20;

/// Copies in whole steps, past the end of the text: texts are short, and a call to memcpy takes longer.
[[nodiscard]] inline char* write(char* out, std::string_view text) noexcept {
  for (size_t at = 0; at < text.size(); at += text_step_bytes)
    std::memcpy(out + at, text.data() + at, text_step_bytes);
  return out + text.size();
}

}  // namespace

size_t response_bytes_max(const response_rows& rows) noexcept {
  size_t scored_bytes = 0;
  for (uint32_t label = 0; label < rows.labels.count; label++) scored_bytes += rows.labels[label].size();
  scored_bytes += rows.values.size() * float_text_bytes_max;
  // A comma for each row, and the last step of the last copy. The latter also makes the bound of no rows positive.
  size_t bytes = text_step_bytes + size_t{rows.count} * (integer_bytes_max + 1);
  uint32_t scored = 0;
  for (uint32_t row = 0; row < rows.count; row++) {
    const double number = rows.number[row];
    if (rows.key[row] >= rows.keys.count || rows.outcome[row] >= rows.outcomes.count) return 0;
    if (!(number >= 0 && number <= integer_max) || number != std::floor(number)) return 0;
    bytes += rows.keys[rows.key[row]].size() + rows.outcomes[rows.outcome[row]].size();
    scored += rows.outcome[row] == 0;
  }
  if (scored > rows.value_count) return 0;
  for (const float* values : rows.values) {
    for (uint32_t index = 0; index < scored; index++) {
      if (!std::isfinite(values[index])) return 0;
    }
  }
  return bytes + scored * scored_bytes;
}

char* write_rows(char* out, const response_rows& rows) noexcept {
  const uint32_t tail = rows.labels.count - 1;
  uint32_t scored = 0;
  for (uint32_t row = 0; row < rows.count; row++) {
    if (row > 0) *out++ = ',';
    out = write(out, rows.keys[rows.key[row]]);
    out = write_integer(out, static_cast<uint64_t>(rows.number[row]));
    out = write(out, rows.outcomes[rows.outcome[row]]);
    if (rows.outcome[row] != 0) continue;
    for (uint32_t value = 0; value < rows.values.size(); value++) {
      if (value > 0) out = write(out, rows.labels[value - 1]);
      out = write_float(out, rows.values[value][scored]);
    }
    out = write(out, rows.labels[tail]);
    scored++;
  }
  return out;
}

}  // namespace understudy
