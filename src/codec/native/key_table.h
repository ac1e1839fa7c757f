// Texts as numbers: each distinct text of a body gets the next code when it first appears. Open addressing
// with a hash whose seed is the process's own, so that nobody can prepare texts that collide.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "short_text.h"

namespace understudy {

/// Distinct texts in order of first appearance. The texts themselves stay in the body.
class key_table {
 public:
  key_table();

  /// Forgets all texts.
  void clear();

  /// The code of `text`, which must stay readable until `clear`.
  [[nodiscard]] uint32_t code_of(std::string_view text);

  /// The code of the JSON string at `token` if it was noted and nothing stands between it and the token
  /// behind it; else `unknown_code`. Needs no look at the string beyond comparing it.
  [[nodiscard]] uint32_t noted_code(const uint8_t* token, const uint8_t* next) const noexcept {
    const noted_key& noted = noted_[note_index(token, static_cast<size_t>(next - token))];
    return noted.code != unknown_code && noted.quoted.is_at(token) ? noted.code : unknown_code;
  }

  /// Notes the code of the string whose quotes stand at `token` and before `next`. Of two that fall together
  /// the last is kept; long ones are not.
  void note(const uint8_t* token, const uint8_t* next, uint32_t code) noexcept;

  static constexpr uint32_t unknown_code = ~uint32_t{0};

  [[nodiscard]] const std::vector<std::string_view>& texts() const noexcept { return texts_; }

 private:
  [[nodiscard]] uint64_t hash_of(std::string_view text) const noexcept;
  void grow();

  struct noted_key {
    short_text quoted{""};
    uint32_t code = unknown_code;
  };
  static constexpr uint32_t note_bits = 6;

  /// From the first and the last eight bytes of a string with its quotes.
  [[nodiscard]] static size_t note_index(const uint8_t* token, size_t bytes) noexcept {
    uint64_t first;
    uint64_t last;
    std::memcpy(&first, token, sizeof first);
    std::memcpy(&last, bytes > 8 ? token + bytes - 8 : token, sizeof last);
    const uint64_t mask = bytes < 8 ? (uint64_t{1} << (bytes * 8)) - 1 : ~uint64_t{0};
    const uint64_t word = (first & mask) + (last & mask) * 0xff51afd7ed558ccd;
    return word * 0x9e3779b97f4a7c15 >> (64 - note_bits);
  }

  noted_key noted_[size_t{1} << note_bits];
  uint64_t seed_;
  std::vector<std::string_view> texts_;
  /// Code + 1 of the text in each slot, 0 for none. Their number is a power of two, at most half of them
  /// taken.
  std::vector<uint32_t> slots_;
};

}  // namespace understudy
