// See scalars.h.
#include "scalars.h"

namespace understudy {

namespace {

/// Digits that a double holds exactly; more are left to the reference decoder.
constexpr int integer_digits_max = 16;

[[nodiscard]] bool is_digit(uint8_t byte) noexcept {
  return byte - uint32_t{'0'} <= 9;
}

/// Value of four hexadecimal digits, or above 0xffff.
[[nodiscard]] uint32_t hex4(const uint8_t* at) noexcept {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    const uint32_t digit = at[i] - uint32_t{'0'};
    const uint32_t letter = (at[i] | 0x20u) - uint32_t{'a'};
    if (digit > 9 && letter > 5) return 0x10000;
    value = value << 4 | (digit <= 9 ? digit : letter + 10);
  }
  return value;
}

/// The byte of a two-character escape; 0 for none.
[[nodiscard]] uint8_t simple_escape(uint8_t letter) noexcept {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

void append_utf8(std::vector<uint8_t>& text, uint32_t point) {
  const auto tail = [&](uint32_t shift) {
    text.push_back(static_cast<uint8_t>(0x80 | ((point >> shift) & 0x3f)));
  };
  if (point < 0x80) {
    text.push_back(static_cast<uint8_t>(point));
  } else if (point < 0x800) {
    text.push_back(static_cast<uint8_t>(0xc0 | point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    text.push_back(static_cast<uint8_t>(0xe0 | point >> 12));
    tail(6);
    tail(0);
  } else {
    text.push_back(static_cast<uint8_t>(0xf0 | point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

bool read_integer(const uint8_t* token, const uint8_t* next, double& value) noexcept {
  const bool negative = *token == '-';
  const uint8_t* at = token + negative;
  const uint8_t* digits = at;
  if (!is_digit(*at)) return false;
  uint64_t sum = *at++ - uint64_t{'0'};
  if (sum != 0) {
    while (is_digit(*at)) sum = sum * 10 + (*at++ - uint64_t{'0'});
  }
  if (at - digits > integer_digits_max) return false;
  if (*at == '.') {
    if (*++at != '0') return false;
    while (*at == '0') at++;
  }
  if (!ends_at(at, next)) return false;
  value = negative ? -static_cast<double>(sum) : static_cast<double>(sum);
  return true;
}

bool unescape(const uint8_t* from, const uint8_t* to, std::vector<uint8_t>& text) {
  text.assign(unescape_margin_bytes, 0);
  while (from < to) {
    const void* found = std::memchr(from, '\\', static_cast<size_t>(to - from));
    const uint8_t* escape = found == nullptr ? to : static_cast<const uint8_t*>(found);
    text.insert(text.end(), from, escape);
    if (escape == to) break;
    // The closing quote is not part of an escape, so at least one byte follows the backslash; four hexadecimal
    // digits that would reach past the closing quote are invalid, because a quote is not a digit.
    from = escape + 2;
    if (escape[1] != 'u') {
      const uint8_t byte = simple_escape(escape[1]);
      if (byte == 0) return false;
      text.push_back(byte);
      continue;
    }
    uint32_t point = hex4(from);
    from += 4;
    if (point > 0xffff || (point >= 0xdc00 && point < 0xe000)) return false;
    if (point >= 0xd800 && point < 0xdc00) {
      if (from[0] != '\\' || from[1] != 'u') return false;
      const uint32_t low = hex4(from + 2);
      if (low < 0xdc00 || low > 0xdfff) return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
      from += 6;
    }
    append_utf8(text, point);
  }
  text.insert(text.end(), unescape_margin_bytes, 0);
  return true;
}

}  // namespace understudy
