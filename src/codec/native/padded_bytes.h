// Bytes followed by readable memory. A body that is read in words of 8 to 32 bytes needs memory past its end; this
// type makes the caller, which owns the buffer, responsible for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace understudy {

/// Bytes that must be readable after a body. Their values never matter.
inline constexpr size_t body_padding_bytes = 64;

/// A body of `bytes` bytes, of which `bytes + body_padding_bytes` can be read.
struct padded_bytes {
  const uint8_t* data;
  size_t bytes;
};

}  // namespace understudy
