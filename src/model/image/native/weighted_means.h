// The weighted means that resize an image, along the rows and then along the columns. image/weighted-means.ts is the
// reference, and image/resample.ts computes the weights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace understudy {

constexpr size_t channel_count = 3;

/// RGB, three bytes per pixel, row by row.
struct rgb_pixels {
  const uint8_t* data;
  size_t width;
  size_t height;
};

/// Where the pixels of a resized row or column come from.
struct line_weights {
  /// Pixels of the result.
  size_t count;
  /// The first source pixel of each pixel of the result, and the number of them.
  const int32_t* starts;
  const int32_t* lengths;
  /// Weights of each pixel of the result, at multiples of `weights_max`.
  const int32_t* weights;
  size_t weights_max;
};

/// Whether there is a result, and each of its pixels has a source within a line of `length` pixels.
bool is_sound(const line_weights& line, size_t length) noexcept;

/// Writes columns.count * rows.count pixels. Both must be sound, for the width and the height of the image.
void write_weighted_means(const rgb_pixels& image, const line_weights& columns, const line_weights& rows,
                          uint8_t* target);

}  // namespace understudy
