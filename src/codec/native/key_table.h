// Texts as numbers: each distinct text of a body gets the next code when it first appears. Open addressing
// with a hash whose seed is the process's own, so that nobody can prepare texts that collide.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace understudy {

/// Distinct texts in order of first appearance. The texts themselves stay in the body.
class key_table {
 public:
  key_table();

  /// Forgets all texts.
  void clear();

  /// The code of `text`, which must stay readable until `clear`.
  [[nodiscard]] uint32_t code_of(std::string_view text);

  [[nodiscard]] const std::vector<std::string_view>& texts() const noexcept { return texts_; }

 private:
  [[nodiscard]] uint64_t hash_of(std::string_view text) const noexcept;
  void grow();

  uint64_t seed_;
  std::vector<std::string_view> texts_;
  /// Code + 1 of the text in each slot, 0 for none. Their number is a power of two, at most half of them
  /// taken.
  std::vector<uint32_t> slots_;
};

}  // namespace understudy
