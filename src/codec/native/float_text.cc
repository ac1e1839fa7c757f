// See float_text.h. Scores are mostly in the range where integers of 64 or 128 bits hold everything exactly,
// so no table of rounded powers is needed, and ties and interval ends are decided as they are.
#include "float_text.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace understudy {

namespace {

/// A float32 without its sign: mantissa × 2^-shift, where the mantissa has 24 bits.
struct float_parts {
  uint32_t mantissa;
  int32_t shift;
  /// A power of two: the next smaller number is only half as far away as the next larger one.
  bool lopsided;
};

/// digits × 10^-scale.
struct decimal {
  uint64_t digits;
  int32_t scale;
};

// The widest shift whose products fit: mantissa (24 bits) × 10^(decimals + 1) × 2.
constexpr int32_t shift_max_64 = 33;
constexpr int32_t shift_max_128 = 92;

/// For each shift, the least decimals whose spacing is no wider than the float's: 10^-decimals ≤ 2^-shift.
struct decimals_table {
  uint8_t decimals[shift_max_128 + 1] = {};
  constexpr decimals_table() {
    unsigned __int128 power_of_ten = 1;
    uint8_t count = 0;
    for (int32_t shift = 0; shift <= shift_max_128; shift++) {
      while (power_of_ten < static_cast<unsigned __int128>(1) << shift) {
        power_of_ten *= 10;
        count++;
      }
      decimals[shift] = count;
    }
  }
};
constexpr decimals_table decimals_of;

struct powers_of_ten {
  unsigned __int128 power[31] = {1};
  constexpr powers_of_ten() {
    for (int i = 1; i < 31; i++) power[i] = power[i - 1] * 10;
  }
};
constexpr powers_of_ten ten_to;

/// Rounds to `decimals` decimals, halves up; whether the result reads back as the same float32.
template <typename Wide>
[[nodiscard]] bool round_to(float_parts parts, int32_t decimals, decimal& rounded) noexcept {
  const Wide unit = static_cast<Wide>(ten_to.power[decimals]);
  const Wide one = static_cast<Wide>(1) << parts.shift;
  const Wide scaled = parts.mantissa * unit;
  const Wide below = scaled >> parts.shift;
  const Wide rest = scaled & (one - 1);
  const bool up = rest * 2 >= one;
  rounded = {static_cast<uint64_t>(below + up), decimals};
  // Half the way to the neighbour is mantissa ± 1/2, scaled by `unit`; at the middle the even mantissa wins.
  const Wide distance = up ? one - rest : rest;
  const Wide reach = !up && parts.lopsided ? distance * 4 : distance * 2;
  return reach < unit || (reach == unit && parts.mantissa % 2 == 0);
}

/// The same number without zeros at the end of its digits.
[[nodiscard]] inline decimal without_zeros(decimal number) noexcept {
  while (number.digits % 10 == 0) {
    number.digits /= 10;
    number.scale--;
  }
  return number;
}

/// The shortest decimal. The coarsest spacing that can hit the interval is one decimal short of the float's
/// own, and one decimal more is needed by powers of two alone. (Trying two spacings without a branch was
/// slower.)
template <typename Wide>
[[nodiscard]] inline decimal shortest(float_parts parts) noexcept {
  const int32_t decimals = decimals_of.decimals[parts.shift];
  decimal found;
  int32_t count = decimals - (decimals > 0);
  while (!round_to<Wide>(parts, count, found) && count <= decimals) count++;
  return without_zeros(found);
}

/// The rest: very small and very large numbers, as the reference does it. One number takes about a
/// microsecond.
[[nodiscard]] decimal shortest_slowly(float value) noexcept {
  // More digits than any float32 has: every rounding below starts from the exact number.
  constexpr int exact_digits = 120;
  char text[exact_digits + 16];
  std::snprintf(text, sizeof text, "%.*e", exact_digits, static_cast<double>(value));
  const int exponent = std::atoi(text + exact_digits + 3);
  const auto digit = [&text](int index) {
    return static_cast<uint64_t>(text[index == 0 ? 0 : index + 1] - '0');
  };
  uint64_t digits = 0;
  int taken = 0;
  for (int count = value < 0x1p-126f ? 1 : 6;; count++) {
    while (taken < count) digits = digits * 10 + digit(taken++);
    // toPrecision rounds halves up.
    const uint64_t rounded = digits + (digit(count) >= 5);
    char candidate[48];
    std::snprintf(candidate, sizeof candidate, "%" PRIu64 "e%d", rounded, exponent - count + 1);
    if (count < 9 && static_cast<float>(std::strtod(candidate, nullptr)) != value) continue;
    return without_zeros({rounded, count - 1 - exponent});
  }
}

[[nodiscard]] char* write_zeros(char* out, int32_t count) noexcept {
  for (; count > 0; count--) *out++ = '0';
  return out;
}

struct digit_pairs {
  char text[200] = {};
  constexpr digit_pairs() {
    for (int i = 0; i < 100; i++) {
      text[i * 2] = static_cast<char>('0' + i / 10);
      text[i * 2 + 1] = static_cast<char>('0' + i % 10);
    }
  }
};
constexpr digit_pairs pairs;

[[nodiscard]] int32_t digit_count(uint64_t value) noexcept {
  int32_t count = 1;
  for (; value >= 10000; value /= 10000) count += 4;
  return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

/// Writes the last `count` digits of `value` at `out`, the highest first.
[[nodiscard]] inline char* write_digits(char* out, uint64_t value, int32_t count) noexcept {
  char* at = out + count;
  while (at - out >= 2) {
    at -= 2;
    std::memcpy(at, pairs.text + value % 100 * 2, 2);
    value /= 100;
  }
  if (at > out) *out = static_cast<char>('0' + value % 10);
  return out + count;
}

/// Number::toString of ECMAScript for digits × 10^-scale, digits without zeros at their end.
[[nodiscard]] char* write_decimal(char* out, decimal number) noexcept {
  const int32_t count = digit_count(number.digits);
  const int32_t point = count - number.scale;
  if (point <= 0 && point > -6) {
    *out++ = '0';
    *out++ = '.';
    out = write_zeros(out, -point);
    return write_digits(out, number.digits, count);
  }
  if (point >= count && point <= 21)
    return write_zeros(write_digits(out, number.digits, count), point - count);
  // The point stands behind `whole` digits; they are written one place too far right and moved.
  const bool scientific = point > 21 || point <= -6;
  const int32_t whole = scientific ? 1 : point;
  char* end = write_digits(out + 1, number.digits, count);
  for (int32_t i = 0; i < whole; i++) out[i] = out[i + 1];
  out[whole] = '.';
  if (!scientific) return end;
  if (count == 1) end--;
  *end++ = 'e';
  *end++ = point > 0 ? '+' : '-';
  return write_integer(end, static_cast<uint64_t>(point > 0 ? point - 1 : 1 - point));
}

}  // namespace

char* write_integer(char* out, uint64_t value) noexcept {
  return write_digits(out, value, digit_count(value));
}

char* write_float(char* out, float value) noexcept {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude == 0) {
    // JavaScript spells negative zero without its sign.
    *out++ = '0';
    return out;
  }
  if (magnitude != bits) *out++ = '-';
  const int32_t exponent = static_cast<int32_t>(magnitude >> 23);
  const uint32_t fraction = magnitude & 0x7fffff;
  const float_parts parts = {fraction | 0x800000, 150 - exponent, fraction == 0};
  if (parts.shift >= 0 && parts.shift <= shift_max_64) return write_decimal(out, shortest<uint64_t>(parts));
  if (parts.shift > 0 && parts.shift <= shift_max_128)
    return write_decimal(out, shortest<unsigned __int128>(parts));
  float absolute;
  std::memcpy(&absolute, &magnitude, sizeof absolute);
  return write_decimal(out, shortest_slowly(absolute));
}

}  // namespace understudy
