// Scalars at a token: integers, null, strings with and without escapes, and the full check of values that are skipped.
// All functions rely on the tokens of stage 1 and on a body whose last token is a closing brace, so that no scan leaves
// the body.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "error.h"

namespace understudy {

/// White space and structure: what may follow a number or a literal.
class scalar_ends {
 public:
  constexpr scalar_ends() {
    for (const char byte : {' ', '\n', '\r', '\t', ',', ':', '[', ']', '{', '}'})
      flags_[static_cast<uint8_t>(byte)] = true;
  }
  constexpr bool operator[](uint8_t byte) const noexcept { return flags_[byte]; }

 private:
  bool flags_[256] = {};
};
inline constexpr scalar_ends ends_scalar;

[[nodiscard]] inline bool is_json_space(uint8_t byte) noexcept {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

[[nodiscard]] inline bool is_null(const uint8_t* token) noexcept {
  return std::memcmp(token, "null", 4) == 0 && ends_scalar[token[4]];
}

/// The integer at `token`, as JSON.parse would give it: 7, -7, -0, 7.0. Returns false for every other
/// spelling.
[[nodiscard]] bool read_unusual_integer(const uint8_t* token, double& value) noexcept;

/// Digits that a double holds exactly; more are left to the reference decoder.
inline constexpr int integer_digits_max = 16;

/// The integer at `token`; the spelling without sign and fraction is the short way. False: not one this file
/// reads.
[[nodiscard]] inline bool read_integer(const uint8_t* token, double& value) noexcept {
  uint32_t digit = token[0] - uint32_t{'0'};
  if (digit > 9) return read_unusual_integer(token, value);
  uint64_t sum = digit;
  const uint8_t* at = token + 1;
  // A zero ends the number: 01 is no JSON.
  if (digit != 0) {
    for (digit = *at - uint32_t{'0'}; digit <= 9; digit = *++at - uint32_t{'0'}) sum = sum * 10 + digit;
  }
  if (at - token > integer_digits_max || !ends_scalar[*at]) return read_unusual_integer(token, value);
  value = static_cast<double>(sum);
  return true;
}

/// The closing quote of the string that opens at `open`, given the token after it. Between the two quotes
/// stage 1 finds no token, and behind the closing one only white space: so it is the last byte before `next`
/// that is none.
[[nodiscard]] inline const uint8_t* closing_quote(const uint8_t* open, const uint8_t* next) noexcept {
  const uint8_t* at = next - 1;
  while (is_json_space(*at)) at--;
  return at > open && *at == '"' ? at : nullptr;
}

[[nodiscard]] inline bool has_escape(const uint8_t* from, const uint8_t* to) noexcept {
  return std::memchr(from, '\\', static_cast<size_t>(to - from)) != nullptr;
}

/// Bytes before and behind an unescaped text, so that it can be measured like a text in a body.
inline constexpr size_t unescape_margin_bytes = 64;

/// Writes the text between two quotes without its escapes, as UTF-8 between two margins. `unusual_text`: a
/// bad escape, or half of a surrogate pair, which has no UTF-8.
[[nodiscard]] decode_error unescape(const uint8_t* from, const uint8_t* to, std::vector<uint8_t>& text);

/// Whether every escape between two quotes is one that JSON knows.
[[nodiscard]] bool escapes_are_valid(const uint8_t* from, const uint8_t* to) noexcept;

/// Deepest nesting of a value that is skipped; deeper ones are left to the reference decoder.
inline constexpr uint32_t skipped_depth_max = 64;

/// Arrays and objects that skipped values may hold, all together. With those of the rows, which are some
/// 300,000 in a body of 16 MiB, fewer than the reference decoder takes; bodies with more are left to it.
inline constexpr uint32_t skipped_container_count_max = 500'000;

/// Checks the value at token `*at` in full and moves `at` behind it. Each array or object takes one of
/// `containers_left`.
[[nodiscard]] decode_error skip_value(const uint8_t* body, const uint32_t*& at, const uint32_t* end,
                                      uint32_t& containers_left) noexcept;

}  // namespace understudy
