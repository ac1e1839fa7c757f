// See key_table.h.
#include "key_table.h"

#include <cstring>
#include <random>

namespace understudy {

namespace {

constexpr size_t slot_count_min = 256;
constexpr uint64_t mixer = 0x9e3779b97f4a7c15;

/// Both halves of a 128-bit product in one word: every bit of both factors reaches it.
[[nodiscard]] uint64_t fold(uint64_t a, uint64_t b) noexcept {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

key_table::key_table()
    : seed_(uint64_t{std::random_device{}()} << 32 | std::random_device{}()), slots_(slot_count_min) {}

void key_table::clear() {
  texts_.clear();
  slots_.assign(slot_count_min, 0);
  for (noted_key& noted : noted_) noted.code = unknown_code;
}

void key_table::note(const uint8_t* token, const uint8_t* next, uint32_t code) noexcept {
  const size_t bytes = static_cast<size_t>(next - token);
  if (bytes > short_text::bytes_max + 2) return;
  noted_[note_index(token, bytes)] = {short_text({reinterpret_cast<const char*>(token + 1), bytes - 2}),
                                      code};
}

uint32_t key_table::code_of(std::string_view text) {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash_of(text) & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == 0) {
      texts_.push_back(text);
      slots_[slot] = static_cast<uint32_t>(texts_.size());
      if (texts_.size() * 2 > slots_.size()) grow();
      return static_cast<uint32_t>(texts_.size() - 1);
    }
    if (texts_[slots_[slot] - 1] == text) return slots_[slot] - 1;
  }
}

uint64_t key_table::hash_of(std::string_view text) const noexcept {
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

void key_table::grow() {
  slots_.assign(slots_.size() * 4, 0);
  const size_t mask = slots_.size() - 1;
  for (uint32_t code = 0; code < texts_.size(); code++) {
    size_t slot = hash_of(texts_[code]) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = code + 1;
  }
}

}  // namespace understudy
