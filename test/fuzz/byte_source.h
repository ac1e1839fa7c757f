// Values made of the bytes of a fuzzer's input. When the bytes are used up, every value is the lowest one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

class byte_source {
 public:
  byte_source(const uint8_t* data, size_t bytes) : at_(data), end_(data + bytes) {}

  /// An integer or a floating-point number with any bits.
  template <typename Number>
  Number any() {
    Number value = {};
    const size_t bytes = std::min(sizeof value, static_cast<size_t>(end_ - at_));
    if (bytes > 0) std::memcpy(&value, at_, bytes);
    at_ += bytes;
    return value;
  }

  template <typename Integer>
  Integer in_range(Integer lowest, Integer highest) {
    return static_cast<Integer>(lowest + any<uint32_t>() % (static_cast<uint64_t>(highest - lowest) + 1));
  }

  bool flag() { return (any<uint8_t>() & 1) != 0; }

  /// A number from 0 to 1.
  float share() { return static_cast<float>(any<uint32_t>()) / 4294967295.0f; }

  std::string text(size_t bytes_max) {
    const size_t requested = in_range<size_t>(0, bytes_max);
    const size_t bytes = std::min(requested, static_cast<size_t>(end_ - at_));
    std::string text(reinterpret_cast<const char*>(at_), bytes);
    at_ += bytes;
    return text;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};
