// See key_table.h.
#include "key_table.h"

#include <cstring>
#include <random>

namespace understudy {

namespace {

constexpr uint64_t mixer = 0x9e3779b97f4a7c15;

/// Both halves of a 128-bit product in one word: every bit of both factors affects it.
[[nodiscard]] uint64_t fold(uint64_t a, uint64_t b) noexcept {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

seeded_hash::seeded_hash() : seed_(uint64_t{std::random_device{}()} << 32 | std::random_device{}()) {}

size_t seeded_hash::operator()(std::string_view text) const noexcept {
  uint64_t hash = fold(seed_ ^ text.size(), mixer);
  size_t at = 0;
  for (; at + 8 < text.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    hash = fold(hash ^ word, mixer ^ seed_);
  }
  uint64_t last = 0;
  std::memcpy(&last, text.data() + at, text.size() - at);
  return fold(hash ^ last, mixer ^ seed_);
}

}  // namespace understudy
