// Unit test of the weighted means that resize images, without N-API, for the sanitizers: `npm run test:sanitizers`.
#include "weighted_means.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace understudy;

std::mt19937 random_numbers(1);

/// From `least` to `most`.
int32_t random_between(int32_t least, int32_t most) {
  return std::uniform_int_distribution<int32_t>(least, most)(random_numbers);
}

/// Weights of a random line of a result, from a line of `length` pixels.
struct random_line {
  std::vector<int32_t> starts;
  std::vector<int32_t> lengths;
  std::vector<int32_t> weights;
  size_t weights_max;

  explicit random_line(int32_t length) : weights_max(static_cast<size_t>(random_between(1, length))) {
    const auto count = static_cast<size_t>(random_between(1, 70));
    for (size_t i = 0; i < count; i++) {
      lengths.push_back(random_between(1, static_cast<int32_t>(weights_max)));
      starts.push_back(random_between(0, length - lengths.back()));
    }
    // A sum of this many bytes with such weights fits into 32 bits, and exceeds a byte in both directions.
    const int32_t most = (1 << 24) / static_cast<int32_t>(2 * weights_max);
    for (size_t i = 0; i < count * weights_max; i++) weights.push_back(random_between(-most / 2, most));
  }

  line_weights view() const {
    return {starts.size(), starts.data(), lengths.data(), weights.data(), weights_max};
  }
};

/// One byte after the other.
uint8_t mean_of(const uint8_t* from, size_t step, const random_line& line, size_t pixel) {
  int64_t sum = 1 << 21;
  for (int32_t i = 0; i < line.lengths[pixel]; i++)
    sum += int64_t{from[static_cast<size_t>(line.starts[pixel] + i) * step]} *
           line.weights[pixel * line.weights_max + static_cast<size_t>(i)];
  return static_cast<uint8_t>(std::clamp<int64_t>(sum >> 22, 0, 255));
}

void expect(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "weighted_means_test.cc: not true: %s\n", text);
  std::exit(1);
}

void test_means_of_a_random_image() {
  const auto width = static_cast<size_t>(random_between(1, 60));
  const auto height = static_cast<size_t>(random_between(1, 40));
  // Of exactly this size, so that a byte read beyond it is noticed.
  const std::unique_ptr<uint8_t[]> data(new uint8_t[width * height * channel_count]);
  for (size_t i = 0; i < width * height * channel_count; i++)
    data[i] = static_cast<uint8_t>(std::clamp(random_between(-100, 355), 0, 255));
  const random_line columns(static_cast<int32_t>(width));
  const random_line rows(static_cast<int32_t>(height));
  const size_t row_bytes = columns.starts.size() * channel_count;
  std::vector<uint8_t> lines(height * row_bytes);
  for (size_t y = 0; y < height; y++)
    for (size_t i = 0; i < row_bytes; i++)
      lines[y * row_bytes + i] =
          mean_of(data.get() + y * width * channel_count + i % channel_count, channel_count, columns, i / channel_count);
  const size_t bytes = rows.starts.size() * row_bytes;
  const std::unique_ptr<uint8_t[]> target(new uint8_t[bytes]);
  write_weighted_means({data.get(), width, height}, columns.view(), rows.view(), target.get());
  for (size_t i = 0; i < bytes; i++)
    expect(target[i] == mean_of(lines.data() + i % row_bytes, row_bytes, rows, i / row_bytes),
           "the mean is that of one byte after the other");
}

void test_lines_beyond_the_image_are_not_sound() {
  const auto sound = [](int32_t start, int32_t length, size_t count) {
    const int32_t weights[] = {1, 1, 1};
    return is_sound({count, &start, &length, weights, 3}, 5);
  };
  expect(sound(0, 1, 1) && sound(2, 3, 1) && sound(4, 1, 1), "a source within the line is sound");
  expect(!sound(3, 3, 1) && !sound(5, 1, 1) && !sound(-1, 2, 1), "a source beyond the line is not sound");
  expect(!sound(0, 0, 1) && !sound(0, -1, 1) && !sound(0, 4, 1), "a number of weights that there are not is not sound");
  expect(!sound(2147483647, 2147483647, 1), "a source that is far beyond the line is not sound");
  expect(!sound(0, 1, 0), "no result is not sound");
}

}  // namespace

int main() {
  for (int i = 0; i < 2000; i++) test_means_of_a_random_image();
  test_lines_beyond_the_image_are_not_sound();
  std::puts("weighted_means_test passed");
}
