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

/// The eight digits of a number below 10^8, a digit a byte and not yet letters, the highest in the lowest
/// byte.
[[nodiscard]] inline uint64_t eight_digits(uint32_t value) noexcept {
  // Division by multiplication, in two lanes of four digits, then in four lanes of two.
  uint64_t lanes = value / 10000 | static_cast<uint64_t>(value % 10000) << 32;
  const uint64_t hundreds = (lanes * 10486 >> 20) & 0x0000007f0000007f;
  lanes = hundreds | (lanes - hundreds * 100) << 16;
  const uint64_t tens = (lanes * 103 >> 10) & 0x000f000f000f000f;
  return tens | (lanes - tens * 10) << 8;
}

constexpr uint64_t digits_to_text = 0x3030303030303030;

// Shares, which most numbers of a response are: from 2^-10 up to 1.
constexpr int32_t share_shift_min = 24;
constexpr int32_t share_shift_max = 33;
constexpr int32_t share_digits = 16;

/// By shift: the coarser of the two spacings that come into question, and what fills up the digits of the
/// finer one.
struct share_units {
  uint64_t coarse[share_shift_max + 1] = {};
  uint64_t fill[share_shift_max + 1] = {};
  constexpr share_units() {
    for (int32_t shift = share_shift_min; shift <= share_shift_max; shift++) {
      coarse[shift] = static_cast<uint64_t>(ten_to.power[decimals_of.decimals[shift] - 1]);
      fill[shift] = static_cast<uint64_t>(ten_to.power[share_digits - decimals_of.decimals[shift]]);
    }
  }
};
constexpr share_units units;

/// What `shortest` and `write_decimal` do, for shares that are no power of two, without a branch that depends
/// on the digits. Writes up to 18 bytes.
[[nodiscard]] inline char* write_share(char* out, uint64_t mantissa, int32_t shift) noexcept {
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t coarse_unit = units.coarse[shift];
  const uint64_t coarse_scaled = mantissa * coarse_unit;
  const uint64_t coarse = (coarse_scaled + half) >> shift;
  const int64_t rest = static_cast<int64_t>(coarse_scaled - (coarse << shift));
  const uint64_t reach = static_cast<uint64_t>(rest < 0 ? -rest : rest) * 2;
  // The finer spacing always hits: it is narrower than that of the floats.
  const uint64_t fine = (coarse_scaled * 10 + half) >> shift;
  const uint64_t is_even = ~mantissa & 1;
  // A mask, since compilers make a branch of `?:` here, and half of the guesses at it would be wrong.
  const uint64_t hits = -uint64_t{reach < coarse_unit + is_even};
  const uint64_t digits = ((coarse * 10 & hits) | (fine & ~hits)) * units.fill[shift];
  const uint64_t high = eight_digits(static_cast<uint32_t>(digits / 100000000));
  uint64_t text = high | digits_to_text;
  std::memcpy(out, "0.", 2);
  std::memcpy(out + 2, &text, sizeof text);
  const uint32_t rest_digits = static_cast<uint32_t>(digits % 100000000);
  // Numbers from 0.125 on have no more than eight decimals.
  if (rest_digits == 0) return out + 10 - __builtin_clzll(high) / 8;
  const uint64_t low = eight_digits(rest_digits);
  text = low | digits_to_text;
  std::memcpy(out + 10, &text, sizeof text);
  return out + 18 - __builtin_clzll(low) / 8;
}

[[nodiscard]] inline int32_t shift_of(uint32_t bits) noexcept {
  return 150 - static_cast<int32_t>(bits >> 23 & 0xff);
}

[[nodiscard]] inline bool is_power_of_two(uint32_t bits) noexcept {
  return (bits & 0x7fffff) == 0;
}

[[nodiscard]] inline uint32_t mantissa_of(uint32_t bits) noexcept {
  return (bits & 0x7fffff) | 0x800000;
}

/// Not inlined: it needs more of registers and stack than shares do.
[[nodiscard, gnu::noinline]] char* write_any_float(char* out, uint32_t bits) noexcept {
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude == 0) {
    // JavaScript spells negative zero without its sign.
    *out++ = '0';
    return out;
  }
  if (magnitude != bits) *out++ = '-';
  const float_parts parts = {mantissa_of(bits), shift_of(bits), is_power_of_two(bits)};
  if (parts.shift >= 0 && parts.shift <= shift_max_64) return write_decimal(out, shortest<uint64_t>(parts));
  if (parts.shift > 0 && parts.shift <= shift_max_128)
    return write_decimal(out, shortest<unsigned __int128>(parts));
  float absolute;
  std::memcpy(&absolute, &magnitude, sizeof absolute);
  return write_decimal(out, shortest_slowly(absolute));
}

}  // namespace

char* write_integer(char* out, uint64_t value) noexcept {
  if (value - 1 < 99999999) {
    const uint64_t digits = eight_digits(static_cast<uint32_t>(value));
    const int zeros = __builtin_ctzll(digits) / 8;
    const uint64_t text = (digits | digits_to_text) >> (zeros * 8);
    std::memcpy(out, &text, sizeof text);
    return out + 8 - zeros;
  }
  return write_digits(out, value, digit_count(value));
}

char* write_float(char* out, float value) noexcept {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const int32_t shift = shift_of(bits);
  const bool is_share = shift >= share_shift_min && shift <= share_shift_max && (bits >> 31) == 0;
  if (is_share && !is_power_of_two(bits)) return write_share(out, mantissa_of(bits), shift);
  return write_any_float(out, bits);
}

}  // namespace understudy
