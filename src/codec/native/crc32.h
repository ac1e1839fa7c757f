// CRC-32 (the polynomial of zlib, PNG and Ethernet) with the processor's product of polynomials.
//
// All is reflected, as this CRC is: the lowest bit of the first byte stands for the highest power of x. So no bit needs
// to be moved, and a vector is bytes as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace understudy {

/// As zlib's crc32: `value` is that of the bytes before these, 0 where there are none. Reads only `count` bytes.
using crc32_function = uint32_t (*)(const uint8_t* bytes, size_t count, uint32_t value) noexcept;

/// Those that this machine can run, the fastest first; they differ in nothing else. None where it has no instruction
/// for it: zlib's is then as good.
[[nodiscard]] std::vector<crc32_function> crc32_functions();

}  // namespace understudy
