// Fuzz target for the native encoder, without N-API: rows of any texts and numbers are refused, or written within the
// stated number of bytes, byte for byte as a slow and obvious writer does it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.h"
#include "float_text.h"
#include "response_rows.h"

namespace {

using understudy::response_rows;
using understudy::text_step_bytes;
using understudy::text_table;

constexpr size_t row_count_max = 24;
constexpr size_t text_bytes_max = 40;
constexpr size_t column_count_max = 5;

[[noreturn]] void fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

/// Texts in an allocation that ends where the readable bytes must end, so that ASan sees every byte read beyond.
class texts {
 public:
  texts(byte_source& source, size_t count) {
    for (size_t text = 0; text < count; text++) {
      bytes_ += source.text(text_bytes_max);
      ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    }
    padded_.assign(bytes_.begin(), bytes_.end());
    padded_.resize(bytes_.size() + text_step_bytes, '"');
    padded_.shrink_to_fit();
    ends_.shrink_to_fit();
  }

  [[nodiscard]] text_table table() const {
    return {padded_.data(), ends_.data(), static_cast<uint32_t>(ends_.size())};
  }
  [[nodiscard]] std::string operator[](size_t index) const {
    const size_t start = index == 0 ? 0 : ends_[index - 1];
    return bytes_.substr(start, ends_[index] - start);
  }
  [[nodiscard]] size_t count() const { return ends_.size(); }

 private:
  std::string bytes_;
  std::vector<char> padded_;
  std::vector<uint32_t> ends_;
};

/// A number of JSON that reads back, no longer than the standard library's text of as many digits as always suffice.
void check_number(float value, const std::string& text) {
  if (text.size() > understudy::float_text_bytes_max) fail("a number is too long", text);
  if (std::strtof(text.c_str(), nullptr) != value) fail("a number does not read back", text);
  if (text.find_first_not_of("-+.e0123456789") != std::string::npos) fail("not a number of JSON", text);
}

std::string text_of(float value) {
  std::vector<char> out(understudy::float_text_bytes_max);
  return {out.data(), static_cast<size_t>(understudy::write_float(out.data(), value) - out.data())};
}

double number_from(byte_source& source) {
  switch (source.in_range<int>(0, 3)) {
    case 0:
      return static_cast<double>(source.any<uint32_t>());
    case 1:
      return static_cast<double>(source.any<uint64_t>() >> 11);
    case 2:
      return 9007199254740991.0 - source.in_range<int>(0, 2);
    default:
      return source.any<double>();
  }
}

float value_from(byte_source& source) {
  if (source.flag()) return source.share();
  const auto bits = source.any<uint32_t>();
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  byte_source source(data, bytes);
  const size_t columns = source.in_range<size_t>(1, column_count_max);
  const texts keys(source, source.in_range<size_t>(0, 4));
  const texts outcomes(source, source.in_range<size_t>(0, 4));
  const texts labels(source, columns);
  const size_t count = source.in_range<size_t>(0, row_count_max);
  std::vector<uint32_t> key(count);
  std::vector<double> number(count);
  std::vector<uint8_t> outcome(count);
  for (size_t row = 0; row < count; row++) {
    // Rarely a code without a text.
    key[row] = source.in_range<uint32_t>(0, 4);
    number[row] = number_from(source);
    outcome[row] = source.in_range<uint8_t>(0, 4);
  }
  const size_t value_count = source.in_range<size_t>(0, row_count_max);
  std::vector<std::vector<float>> values(columns, std::vector<float>(value_count));
  for (auto& column : values) {
    for (float& value : column) value = value_from(source);
  }

  response_rows rows = {};
  rows.count = static_cast<uint32_t>(count);
  rows.key = key.data();
  rows.number = number.data();
  rows.outcome = outcome.data();
  rows.keys = keys.table();
  rows.outcomes = outcomes.table();
  rows.labels = labels.table();
  for (const auto& column : values) rows.values.push_back(column.data());
  rows.value_count = static_cast<uint32_t>(value_count);

  for (const auto& column : values) {
    for (const float value : column) {
      if (std::isfinite(value)) check_number(value, text_of(value));
    }
  }

  std::string expected;
  bool sound = true;
  size_t scored = 0;
  for (size_t row = 0; row < count && sound; row++) {
    const double at = number[row];
    sound = key[row] < keys.count() && outcome[row] < outcomes.count() && at >= 0 && at <= 9007199254740991.0 &&
            at == std::floor(at);
    if (!sound) break;
    if (row > 0) expected += ',';
    expected += keys[key[row]] + std::to_string(static_cast<uint64_t>(at)) + outcomes[outcome[row]];
    if (outcome[row] != 0) continue;
    sound = scored < value_count;
    for (size_t column = 0; column < columns && sound; column++) {
      const float value = values[column][scored];
      sound = std::isfinite(value);
      if (sound) expected += text_of(value) + labels[column];
    }
    scored++;
  }

  const size_t bytes_max = understudy::response_bytes_max(rows);
  if ((bytes_max > 0) != sound) fail(sound ? "refused valid rows" : "accepted invalid rows", expected);
  if (!sound) return 0;
  std::vector<char> out(bytes_max);
  const char* end = understudy::write_rows(out.data(), rows);
  if (std::string(out.data(), static_cast<size_t>(end - out.data())) != expected) fail("other rows", expected);
  return 0;
}
