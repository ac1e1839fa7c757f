// String interning: each distinct text of a body gets the next code when it first appears.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "short_text.h"

namespace understudy {

/// A hash with a seed of this process, so that a client cannot prepare texts that collide.
class seeded_hash {
 public:
  seeded_hash();
  [[nodiscard]] size_t operator()(std::string_view text) const noexcept;

 private:
  uint64_t seed_;
};

/// Distinct texts in order of first appearance. The texts themselves stay in the body.
class key_table {
 public:
  /// Removes all texts, and releases the memory of a body with very many of them.
  void clear() {
    constexpr size_t kept_bucket_count_max = 1 << 14;
    texts_.clear();
    if (codes_.bucket_count() > kept_bucket_count_max) codes_ = {};
    codes_.clear();
    for (recent_key& recent : recent_) recent.code = unknown_code;
  }

  /// The code of `text`, which must stay readable until `clear`.
  [[nodiscard]] uint32_t code_of(std::string_view text) {
    const auto [entry, is_new] = codes_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return entry->second;
  }

  static constexpr uint32_t unknown_code = ~uint32_t{0};

  /// The code of the JSON string at `token`, if it is in the cache and the token at `next` follows without white space;
  /// else `unknown_code`. Rows mostly repeat a few keys: this takes half of the time of `code_of`.
  [[nodiscard]] uint32_t recent_code(const uint8_t* token, const uint8_t* next) const noexcept {
    const recent_key& recent = recent_[recent_index(token, next)];
    return recent.code != unknown_code && recent.quoted.is_at(token) ? recent.code : unknown_code;
  }

  /// Adds the string from the quote at `token` to the quote before `end` to the cache. Long strings are not kept.
  void cache(const uint8_t* token, const uint8_t* end, uint32_t code) noexcept {
    const size_t bytes = static_cast<size_t>(end - token) - 2;
    if (bytes <= short_text::bytes_max)
      recent_[recent_index(token, end)] = {short_text({reinterpret_cast<const char*>(token + 1), bytes}), code};
  }

  [[nodiscard]] const std::vector<std::string_view>& texts() const noexcept { return texts_; }

 private:
  struct recent_key {
    short_text quoted{""};
    uint32_t code = unknown_code;
  };
  static constexpr uint32_t recent_bits = 6;

  /// Hashes the first and the last eight bytes of a quoted string.
  [[nodiscard]] static size_t recent_index(const uint8_t* token, const uint8_t* end) noexcept {
    const size_t bytes = static_cast<size_t>(end - token);
    uint64_t first;
    uint64_t last;
    std::memcpy(&first, token, sizeof first);
    std::memcpy(&last, bytes > 8 ? end - 8 : token, sizeof last);
    const uint64_t mask = bytes < 8 ? (uint64_t{1} << (bytes * 8)) - 1 : ~uint64_t{0};
    const uint64_t word = (first & mask) + (last & mask) * 0xff51afd7ed558ccd;
    return word * 0x9e3779b97f4a7c15 >> (64 - recent_bits);
  }

  recent_key recent_[size_t{1} << recent_bits];
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, uint32_t, seeded_hash> codes_;
};

}  // namespace understudy
