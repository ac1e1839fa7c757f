// The 64-bit fingerprint of a text, over its UTF-8 bytes as codec/text-measures.ts defines it: four lanes of
// 32 bits, each taking every fourth word of four bytes. Four independent chains keep the multiplier busy;
// one chain would wait for each result.
#pragma once

#include <cstddef>
#include <cstdint>

namespace understudy {

/// Two halves, each of which changes when a single word of the text does.
struct fingerprint {
  uint32_t low;
  uint32_t high;
};

[[nodiscard]] fingerprint fingerprint_of(const uint8_t* text, size_t bytes) noexcept;

}  // namespace understudy
