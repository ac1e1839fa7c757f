// Scalars at a token: integers, null, strings with and without escapes. All functions rely on the tokens of stage 1 and
// on a body whose last token is a closing brace, so that no scan leaves the body.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace understudy {

[[nodiscard]] inline bool is_json_space(uint8_t byte) noexcept {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/// Whether a number or a literal ends at `at`, given the token after it.
[[nodiscard]] inline bool ends_at(const uint8_t* at, const uint8_t* next) noexcept {
  return at == next || is_json_space(*at);
}

[[nodiscard]] inline bool is_null(const uint8_t* token, const uint8_t* next) noexcept {
  return std::memcmp(token, "null", 4) == 0 && ends_at(token + 4, next);
}

/// The number at `token` if it consists of one to eight digits up to the next token, else -1. It has no branch on the
/// digits: the lengths of counters are random, and a mispredicted branch costs more than the conversion.
[[nodiscard]] inline int64_t read_short_integer(const uint8_t* token, const uint8_t* next) noexcept {
  constexpr uint64_t zeros = 0x3030303030303030;
  const uint64_t bits = static_cast<uint64_t>(next - token) * 8;
  if (bits > 64) return -1;
  uint64_t word;
  std::memcpy(&word, token, sizeof word);
  const bool has_leading_zero = (*token == '0') & (bits > 8);
  // Shifts the digits to the end of the word, which is its high end, and fills up with zeros.
  uint64_t digits = (word << (64 - bits) | zeros >> 8 >> (bits - 8)) ^ zeros;
  const bool all_digits = ((digits | (digits + 0x7676767676767676)) & 0x8080808080808080) == 0;
  // Combines pairs of digits, then pairs of pairs, then both halves.
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
  digits = (digits * 10000 + (digits >> 32)) & 0xffffffff;
  return all_digits & !has_leading_zero ? static_cast<int64_t>(digits) : -1;
}

/// The integer at `token`, as JSON.parse would give it: 7, -7, -0, 7.0. Returns false for every other spelling.
[[nodiscard]] bool read_integer(const uint8_t* token, const uint8_t* next, double& value) noexcept;

/// The closing quote of the string that opens at `open`, given the token after it. Between the two quotes
/// stage 1 finds no token, and after the closing one only white space: so it is the last byte before `next`
/// that is not white space.
[[nodiscard]] inline const uint8_t* closing_quote(const uint8_t* open, const uint8_t* next) noexcept {
  const uint8_t* at = next - 1;
  while (is_json_space(*at)) at--;
  return at > open && *at == '"' ? at : nullptr;
}

[[nodiscard]] inline bool has_escape(const uint8_t* from, const uint8_t* to) noexcept {
  return std::memchr(from, '\\', static_cast<size_t>(to - from)) != nullptr;
}

/// Bytes before and after an unescaped text, so that it can be measured like a text in a body.
inline constexpr size_t unescape_margin_bytes = 64;

/// Writes the text between two quotes without its escapes, as UTF-8 between two margins. False for an invalid escape, and
/// for half of a surrogate pair, which has no UTF-8.
[[nodiscard]] bool unescape(const uint8_t* from, const uint8_t* to, std::vector<uint8_t>& text);

}  // namespace understudy
