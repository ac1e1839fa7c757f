// See packed_columns.h, and pack.ts for the form.
#include "packed_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace understudy {

namespace {

constexpr size_t head_bytes = 16;
constexpr size_t alignment = 8;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double safe_integer_max = 9007199254740991;

enum class form : uint8_t { constant, offset8, offset16, offset32, float64 };

struct column_form {
  form kind;
  double base;
  size_t value_bytes;
};

size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool is_whole(double value) {
  // Adding this to a double rounds it to an integer; larger ones have no fraction, or are rare enough for a call.
  constexpr double rounder = 6755399441055744;  // 1.5 * 2^52
  constexpr double rounded_below = 2251799813685248;  // 2^51
  if (std::fabs(value) < rounded_below) return (value + rounder) - rounder == value;
  return std::floor(value) == value;
}

/// Least and greatest value and what else decides the form, of several rows at once: one after the other, each comparison
/// would wait for the one before.
template <typename number>
column_form form_of(const number* values, size_t row_count) noexcept {
  constexpr size_t lanes = 4;
  double least[lanes] = {infinity, infinity, infinity, infinity};
  double greatest[lanes] = {-infinity, -infinity, -infinity, -infinity};
  size_t missing = 0;
  bool whole = true;
  const auto look = [&](double value, size_t lane) {
    least[lane] = value < least[lane] ? value : least[lane];
    greatest[lane] = value > greatest[lane] ? value : greatest[lane];
    if (value != value) {
      missing++;
    } else {
      whole = whole && is_whole(value);
    }
  };
  size_t row = 0;
  for (; row + lanes <= row_count; row += lanes) {
    for (size_t lane = 0; lane < lanes; lane++) look(static_cast<double>(values[row + lane]), lane);
  }
  for (; row < row_count; row++) look(static_cast<double>(values[row]), 0);
  double min = *std::min_element(least, least + lanes);
  const double max = *std::max_element(greatest, greatest + lanes);
  if (missing == row_count) return {form::constant, std::numeric_limits<double>::quiet_NaN(), 0};
  // Of zeros with both signs the first counts.
  if (min == 0) min = static_cast<double>(*std::find(values, values + row_count, number{0}));
  if (missing == 0 && min == max) return {form::constant, min, 0};
  const double range = max - min;
  const bool offsets = whole && min >= -safe_integer_max && max <= safe_integer_max;
  if (offsets && range < 0xff) return {form::offset8, min, 1};
  if (offsets && range < 0xffff) return {form::offset16, min, 2};
  if (offsets && range < 0xffffffff) return {form::offset32, min, 4};
  return {form::float64, 0, sizeof(double)};
}

/// Offsets from `base`; a missing value is the highest one.
template <typename offset, typename number>
void write_offsets(const number* values, size_t row_count, double base, uint8_t* out) noexcept {
  offset* const to = reinterpret_cast<offset*>(out);
  for (size_t row = 0; row < row_count; row++) {
    const double value = static_cast<double>(values[row]);
    // By way of int64, into which every offset fits: processors convert to it, and not to unsigned numbers.
    to[row] = value != value ? std::numeric_limits<offset>::max()
                             : static_cast<offset>(static_cast<int64_t>(value - base));
  }
}

template <typename number>
void write_doubles(const number* values, size_t row_count, uint8_t* out) noexcept {
  double* const to = reinterpret_cast<double*>(out);
  std::copy(values, values + row_count, to);
}

}  // namespace

size_t packed_column_bytes_max(size_t row_count) noexcept { return head_bytes + row_count * sizeof(double); }

template <typename number>
uint8_t* write_packed_column(const number* values, size_t row_count, uint8_t* out) noexcept {
  const column_form found = form_of(values, row_count);
  const size_t data_bytes = row_count * found.value_bytes;
  const uint32_t data_bytes_32 = static_cast<uint32_t>(data_bytes);
  std::memset(out, 0, head_bytes);
  out[0] = static_cast<uint8_t>(found.kind);
  std::memcpy(out + 4, &data_bytes_32, sizeof data_bytes_32);
  std::memcpy(out + 8, &found.base, sizeof found.base);
  uint8_t* const data = out + head_bytes;
  uint8_t* const end = data + aligned(data_bytes);
  std::memset(data + data_bytes, 0, static_cast<size_t>(end - data) - data_bytes);
  switch (found.kind) {
    case form::constant:
      break;
    case form::offset8:
      write_offsets<uint8_t>(values, row_count, found.base, data);
      break;
    case form::offset16:
      write_offsets<uint16_t>(values, row_count, found.base, data);
      break;
    case form::offset32:
      write_offsets<uint32_t>(values, row_count, found.base, data);
      break;
    case form::float64:
      write_doubles(values, row_count, data);
      break;
  }
  return end;
}

template uint8_t* write_packed_column(const double*, size_t, uint8_t*) noexcept;
template uint8_t* write_packed_column(const uint32_t*, size_t, uint8_t*) noexcept;
template uint8_t* write_packed_column(const uint8_t*, size_t, uint8_t*) noexcept;

}  // namespace understudy
