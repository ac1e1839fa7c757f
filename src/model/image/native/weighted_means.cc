// See weighted_means.h.
#include "weighted_means.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace understudy {

namespace {

/// Bytes of the result that are computed at once: the compiler keeps their sums in registers.
constexpr size_t block_bytes = 32;
/// Rows that are resized at once. A block has a pixel of each, and after each pixel a byte that is ignored.
constexpr size_t pixel_bytes = 4;
constexpr size_t block_rows = block_bytes / pixel_bytes;

/// Weights have so many bits after the point.
constexpr int weight_bits = 22;
/// Sums begin with it, so that they are rounded.
constexpr uint32_t half = 1u << (weight_bits - 1);

/// The weighted mean of `length` blocks, which begin `stride` bytes apart.
[[gnu::always_inline]] inline void mean_of_blocks(const uint8_t* from, size_t stride, const int32_t* weights,
                                                  int32_t length, uint8_t* to) noexcept {
  // Unsigned: the sum of some of the weights may be larger than that of all, and wraps around.
  uint32_t sums[block_bytes];
  for (uint32_t& sum : sums) sum = half;
  for (int32_t at = 0; at < length; at++, from += stride) {
    const auto weight = static_cast<uint32_t>(weights[at]);
    for (size_t i = 0; i < block_bytes; i++) sums[i] += from[i] * weight;
  }
  for (size_t i = 0; i < block_bytes; i++)
    to[i] = static_cast<uint8_t>(std::clamp(static_cast<int32_t>(sums[i]) >> weight_bits, 0, 255));
}

/// Part of a line.
struct stretch {
  size_t first;
  size_t end;
};

/// The source pixels that are read.
stretch source_of(const line_weights& line) noexcept {
  stretch source = {SIZE_MAX, 0};
  for (size_t pixel = 0; pixel < line.count; pixel++) {
    const auto start = static_cast<size_t>(line.starts[pixel]);
    source.first = std::min(source.first, start);
    source.end = std::max(source.end, start + static_cast<size_t>(line.lengths[pixel]));
  }
  return source;
}

/// Copies each pixel to a block of its own.
[[gnu::always_inline]] inline void copy_to_blocks(const uint8_t* pixels, size_t count, uint8_t* to) noexcept {
  // A copy includes the byte after the pixel, which the last one may not have.
  for (; count > 1; count--, pixels += channel_count, to += block_bytes) std::memcpy(to, pixels, pixel_bytes);
  std::memcpy(to, pixels, channel_count);
}

/// The rows of `source`, resized, which begin `stride` bytes apart: at least one more than they have.
[[gnu::always_inline]] inline std::vector<uint8_t> means_of_rows(const rgb_pixels& image, const line_weights& columns,
                                                                 stretch source, size_t stride) {
  const auto [first_column, end_column] = source_of(columns);
  std::vector<uint8_t> blocks((end_column - first_column) * block_bytes);
  // A block may have more rows than are left.
  std::vector<uint8_t> rows((source.end - source.first + block_rows - 1) * stride);
  uint8_t* to = rows.data();
  for (size_t first = source.first; first < source.end; first += block_rows, to += block_rows * stride) {
    for (size_t i = 0; i < block_rows; i++) {
      const size_t row = std::min(first + i, source.end - 1);
      copy_to_blocks(image.data + (row * image.width + first_column) * channel_count, end_column - first_column,
                     blocks.data() + i * pixel_bytes);
    }
    for (size_t pixel = 0; pixel < columns.count; pixel++) {
      const size_t start = static_cast<size_t>(columns.starts[pixel]) - first_column;
      uint8_t means[block_bytes];
      mean_of_blocks(blocks.data() + start * block_bytes, block_bytes, columns.weights + pixel * columns.weights_max,
                     columns.lengths[pixel], means);
      // The next pixel overwrites the fourth byte, which after the last one is no part of the row.
      for (size_t i = 0; i < block_rows; i++)
        std::memcpy(to + i * stride + pixel * channel_count, means + i * pixel_bytes, pixel_bytes);
    }
  }
  return rows;
}

[[gnu::always_inline]] inline void write_means_inline(const rgb_pixels& image, const line_weights& columns,
                                                      const line_weights& rows, uint8_t* target) {
  const stretch source = source_of(rows);
  const size_t row_bytes = columns.count * channel_count;
  const size_t stride = (row_bytes / block_bytes + 1) * block_bytes;
  const std::vector<uint8_t> resized_rows = means_of_rows(image, columns, source, stride);
  std::vector<uint8_t> means(stride);
  for (size_t row = 0; row < rows.count; row++) {
    const size_t start = static_cast<size_t>(rows.starts[row]) - source.first;
    for (size_t at = 0; at < stride; at += block_bytes)
      mean_of_blocks(resized_rows.data() + start * stride + at, stride, rows.weights + row * rows.weights_max,
                     rows.lengths[row], means.data() + at);
    std::memcpy(target + row * row_bytes, means.data(), row_bytes);
  }
}

#if defined(__x86_64__) && !defined(__AVX2__)
// The addon is compiled for baseline x86-64. These loops exist a second time for AVX2, selected at run time.
__attribute__((target("avx2"))) void write_means_avx2(const rgb_pixels& image, const line_weights& columns,
                                                      const line_weights& rows, uint8_t* target) {
  write_means_inline(image, columns, rows, target);
}

const bool has_avx2 = __builtin_cpu_supports("avx2");
#else
constexpr bool has_avx2 = false;
void write_means_avx2(const rgb_pixels&, const line_weights&, const line_weights&, uint8_t*) {}
#endif

}  // namespace

bool is_sound(const line_weights& line, size_t length) noexcept {
  for (size_t pixel = 0; pixel < line.count; pixel++) {
    const int64_t start = line.starts[pixel];
    const int64_t count = line.lengths[pixel];
    if (start < 0 || count < 1 || static_cast<uint64_t>(count) > line.weights_max ||
        static_cast<uint64_t>(start + count) > length)
      return false;
  }
  return line.count > 0;
}

void write_weighted_means(const rgb_pixels& image, const line_weights& columns, const line_weights& rows,
                          uint8_t* target) {
  if (has_avx2) {
    write_means_avx2(image, columns, rows, target);
  } else {
    write_means_inline(image, columns, rows, target);
  }
}

}  // namespace understudy
