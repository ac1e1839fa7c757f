// See float_text.h. std::to_chars finds the digits; this file corrects the rounding of two rare kinds of numbers and
// places the decimal point.
#include "float_text.h"

#include <charconv>
#include <cmath>
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
/// even, so it gets the next larger double, which is no half and rounds like the value in all other cases.
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
/// behind the point. Halfway between two decimals that both read back, std::to_chars takes the even one: an odd multiple
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
  if (value < 0) *out++ = '-';
  if (value >= 1e-6f && value < 1) {
    // Scores. In this range the fixed form is that of JavaScript: `0.` and the places.
    char* const end = std::to_chars(out, out + float_text_bytes_max, value, std::chars_format::fixed).ptr;
    if (!may_differ(bits_of(value), static_cast<int>(end - out) - 2)) return end;
  }
  return write_decimal(out, reference_decimal(std::fabs(value)));
}

}  // namespace understudy
