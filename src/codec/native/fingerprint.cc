// See fingerprint.h.
#include "fingerprint.h"

#include <cstring>

namespace understudy {

namespace {

constexpr size_t lane_count = 4;
constexpr size_t block_bytes = 4 * lane_count;

[[nodiscard]] constexpr uint32_t rotate(uint32_t word, int bits) noexcept {
  return word << bits | word >> (32 - bits);
}

void mix_block(uint32_t (&lanes)[lane_count], const uint8_t* block) noexcept {
  for (size_t lane = 0; lane < lane_count; lane++) {
    uint32_t word;
    std::memcpy(&word, block + lane * 4, sizeof word);
    lanes[lane] = rotate((lanes[lane] ^ word) * 0x9e3779b1, 13);
  }
}

}  // namespace

fingerprint fingerprint_of(const uint8_t* text, size_t bytes) noexcept {
  uint32_t lanes[lane_count] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  size_t at = 0;
  for (; at + block_bytes <= bytes; at += block_bytes) mix_block(lanes, text + at);
  if (at < bytes) {
    // The last block is padded with zeros; the length below distinguishes a text from the same text followed by
    // zeros.
    uint8_t last[block_bytes] = {};
    std::memcpy(last, text + at, bytes - at);
    mix_block(lanes, last);
  }
  fingerprint print = {static_cast<uint32_t>(bytes), static_cast<uint32_t>(bytes)};
  for (size_t lane = 0; lane < lane_count; lane++) {
    print.low = rotate((print.low ^ lanes[lane]) * 0x85ebca6b, 15);
    print.high = rotate((print.high ^ lanes[lane_count - 1 - lane]) * 0xc2b2ae35, 17);
  }
  return print;
}

}  // namespace understudy
