// Comparing a JSON string with a known short one: member names and enum values are at most 30 bytes, so a few
// words with a mask for the last one beat a call to memcmp, and the closing quote is compared along with the
// rest.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace understudy {

/// A string with its quotes, ready to be compared with the text of a body.
class short_text {
 public:
  /// Longest string, without its quotes.
  static constexpr size_t bytes_max = 30;

  /// `text` must be at most `bytes_max` long and need no escape in JSON.
  explicit short_text(std::string_view text) noexcept : word_count_((text.size() + 2 + 7) / 8) {
    char quoted[32] = {'"'};
    std::memcpy(quoted + 1, text.data(), text.size());
    quoted[text.size() + 1] = '"';
    std::memcpy(words_, quoted, sizeof words_);
    const size_t last_bytes = (text.size() + 2) - (word_count_ - 1) * 8;
    last_mask_ = last_bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (last_bytes * 8)) - 1;
  }

  /// Whether this string starts at `at`, quotes included. Reads up to 32 bytes.
  [[nodiscard]] bool is_at(const uint8_t* at) const noexcept {
    uint32_t word = 0;
    for (; word + 1 < word_count_; word++) {
      if (load(at + word * 8) != words_[word]) return false;
    }
    return ((load(at + word * 8) ^ words_[word]) & last_mask_) == 0;
  }

 private:
  static uint64_t load(const uint8_t* at) noexcept {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  uint64_t words_[4] = {};
  uint64_t last_mask_ = 0;
  uint32_t word_count_ = 0;
};

}  // namespace understudy
