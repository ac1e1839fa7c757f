// See float_text.h. Scores are written by integer arithmetic. For other numbers std::to_chars finds the digits; this file
// corrects the rounding of two rare kinds of them and places the decimal point.
#include "float_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace understudy {

namespace {

constexpr int digits_max = 9;

/// The number 0.d₁d₂…dₙ × 10^point; the digits have no zeros at their end.
struct decimal {
  char digits[digits_max + 1];
  int count;
  int point;
};

/// Reads `d.ddde±xx`, as std::to_chars writes it.
[[nodiscard]] decimal parse_scientific(const char* text, const char* end) noexcept {
  decimal number = {};
  const char* at = text;
  for (; *at != 'e'; at++) {
    if (*at != '.') number.digits[number.count++] = *at;
  }
  while (number.count > 1 && number.digits[number.count - 1] == '0') number.count--;
  const bool is_negative = at[1] == '-';
  int exponent = 0;
  for (at += 2; at < end; at++) exponent = exponent * 10 + (*at - '0');
  number.point = (is_negative ? -exponent : exponent) + 1;
  return number;
}

[[nodiscard]] decimal shortest(float value) noexcept {
  char text[24];
  return parse_scientific(text, std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr);
}

/// `value` rounded to `count` digits, halves up, as Number.prototype.toPrecision does it. std::to_chars rounds halves to
/// even, so it gets the next larger double, which is not halfway and rounds like the value in all other cases.
[[nodiscard]] decimal rounded(float value, int count) noexcept {
  char text[32];
  const double above = std::nextafter(static_cast<double>(value), std::numeric_limits<double>::infinity());
  return parse_scientific(
      text, std::to_chars(text, text + sizeof text, above, std::chars_format::scientific, count - 1).ptr);
}

[[nodiscard]] float value_of(const decimal& number) noexcept {
  char text[24];
  char* end = text;
  *end++ = number.digits[0];
  *end++ = '.';
  std::memcpy(end, number.digits + 1, static_cast<size_t>(number.count - 1));
  end += number.count - 1;
  *end++ = 'e';
  end = std::to_chars(end, text + sizeof text, number.point - 1).ptr;
  float value = 0;
  std::from_chars(text, end, value);
  return value;
}

/// Whether the reference may choose another decimal than std::to_chars, whose decimal for these bits has so many places
/// after the point. Halfway between two decimals that both read back, std::to_chars takes the even one: an odd multiple
/// of 2^-(k+1) has k + 1 places, the last of which is a 5. For a power of two, whose neighbours are not equally far away,
/// it may take a shorter decimal, which reads back but is not the nearest of its length.
[[nodiscard]] bool may_differ(uint32_t bits, int places) noexcept {
  const uint32_t fraction = bits & 0x7fffff;
  const int lowest_bit = __builtin_ctz(fraction | 0x800000) + static_cast<int>(bits >> 23) - 150;
  return fraction == 0 || (places >= 0 && lowest_bit == -(places + 1));
}

[[nodiscard]] uint32_t bits_of(float value) noexcept {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// The decimal that the reference chooses for a positive number: it tries lengths from the shortest on and takes the
/// first that reads back.
[[nodiscard]] decimal reference_decimal(float value) noexcept {
  decimal number = shortest(value);
  if (may_differ(bits_of(value), number.count - number.point)) {
    int count = number.count;
    do number = rounded(value, count);
    while (++count <= digits_max && value_of(number) != value);
  }
  return number;
}

[[nodiscard]] char* write(char* out, const char* digits, int count) noexcept {
  std::memcpy(out, digits, static_cast<size_t>(count));
  return out + count;
}

[[nodiscard]] char* write_zeros(char* out, int count) noexcept {
  std::memset(out, '0', static_cast<size_t>(count));
  return out + count;
}

/// Number::toString of ECMAScript.
[[nodiscard]] char* write_decimal(char* out, const decimal& number) noexcept {
  const auto [digits, count, point] = number;
  if (point > 21 || point <= -6) {
    *out++ = digits[0];
    if (count > 1) {
      *out++ = '.';
      out = write(out, digits + 1, count - 1);
    }
    *out++ = 'e';
    *out++ = point > 0 ? '+' : '-';
    return write_integer(out, static_cast<uint64_t>(point > 0 ? point - 1 : 1 - point));
  }
  if (point >= count) return write_zeros(write(out, digits, count), point - count);
  if (point > 0) {
    out = write(out, digits, point);
    *out++ = '.';
    return write(out, digits + point, count - point);
  }
  *out++ = '0';
  *out++ = '.';
  return write(write_zeros(out, -point), digits, count);
}

// Numbers from 2^-13 up to 1: mantissa × 2^-shift, the mantissa has 24 bits, and 64 bits hold every product below.
constexpr int score_shift_min = 24;
constexpr int score_shift_max = 36;

/// 10 to the number of decimal places whose spacing is not wider than 2^-shift, by shift.
struct score_scales {
  uint64_t scales[score_shift_max + 1] = {};
  constexpr score_scales() {
    uint64_t scale = 1;
    for (int shift = 0; shift <= score_shift_max; shift++) {
      while (scale < uint64_t{1} << shift) scale *= 10;
      scales[shift] = scale;
    }
  }
};
constexpr score_scales scale_of;

/// The text of a score that is not a power of two, whose neighbours are therefore equally far away. At most one decimal
/// of the next coarser spacing reads back as the number; otherwise the nearest one of this spacing does.
[[nodiscard]] char* write_score(char* out, uint64_t mantissa, int shift) noexcept {
  const uint64_t scale = scale_of.scales[shift];
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t coarse_product = mantissa * (scale / 10);
  const uint64_t coarse = (coarse_product + half) >> shift;
  const int64_t error = static_cast<int64_t>(coarse_product - (coarse << shift));
  // Halfway between two float32, the string reads back as the one with the even mantissa.
  const bool is_coarse = static_cast<uint64_t>(std::abs(error)) * 2 < scale / 10 + (~mantissa & 1);
  // A mask: compilers make a branch of `?:`, and half of the predictions would be wrong.
  const uint64_t mask = -uint64_t{is_coarse};
  const uint64_t digits = (coarse * 10 & mask) | (((coarse_product * 10 + half) >> shift) & ~mask);
  // The 1 before the places keeps their zeros; `0.` replaces it.
  char* end = std::to_chars(out + 1, out + float_text_bytes_max, scale + digits).ptr;
  std::memcpy(out, "0.", 2);
  end -= is_coarse;
  while (end[-1] == '0') end--;
  return end;
}

}  // namespace

char* write_integer(char* out, uint64_t value) noexcept {
  constexpr int bytes_max = 20;
  return std::to_chars(out, out + bytes_max, value).ptr;
}

char* write_float(char* out, float value) noexcept {
  if (value == 0) {
    // JavaScript spells negative zero without its sign.
    *out++ = '0';
    return out;
  }
  const uint32_t bits = bits_of(value);
  const uint32_t fraction = bits & 0x7fffff;
  // A negative number has a shift below the least.
  const int shift = 150 - static_cast<int>(bits >> 23);
  if (shift >= score_shift_min && shift <= score_shift_max && fraction != 0)
    return write_score(out, fraction | 0x800000, shift);
  if (value < 0) *out++ = '-';
  return write_decimal(out, reference_decimal(std::fabs(value)));
}

}  // namespace understudy
