// String interning: each distinct text of a body gets the next code when it first appears.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  /// Forgets all texts, and returns the memory of a body with very many of them.
  void clear() {
    constexpr size_t kept_bucket_count_max = 1 << 14;
    texts_.clear();
    if (codes_.bucket_count() > kept_bucket_count_max) codes_ = {};
    codes_.clear();
  }

  /// The code of `text`, which must stay readable until `clear`.
  [[nodiscard]] uint32_t code_of(std::string_view text) {
    const auto [entry, is_new] = codes_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return entry->second;
  }

  [[nodiscard]] const std::vector<std::string_view>& texts() const noexcept { return texts_; }

 private:
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, uint32_t, seeded_hash> codes_;
};

}  // namespace understudy
