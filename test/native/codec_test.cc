// Unit tests of the native codec without N-API, for the sanitizers: `npm run test:sanitizers`.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "column_memory.h"
#include "column_program.h"
#include "date_time.h"
#include "float_text.h"
#include "key_table.h"
#include "scalars.h"
#include "text_measures.h"

namespace {

using namespace understudy;

#define EXPECT(condition) expect(condition, #condition, __LINE__)

void expect(bool condition, const char* text, int line) {
  if (condition) return;
  std::fprintf(stderr, "codec_test.cc:%d: not true: %s\n", line, text);
  std::exit(1);
}

const uint8_t* bytes_of(const char* text) { return reinterpret_cast<const uint8_t*>(text); }

std::string text_of(float value) {
  std::vector<char> out(float_text_bytes_max);
  return {out.data(), write_float(out.data(), value)};
}

void test_floats_have_the_shortest_text() {
  const std::pair<float, const char*> cases[] = {
      {0.0f, "0"}, {-0.0f, "0"}, {1.0f, "1"}, {0.1f, "0.1"}, {-0.25f, "-0.25"}, {1e21f, "1e+21"},
      {1e-7f, "1e-07"}, {16777216.0f, "16777216"},
      // Halfway between two decimals of eight digits: the reference rounds up.
      {0.251953125f, "0.25195313"},
      // Both ends of the range that integer arithmetic writes, and their neighbours.
      {0x1p-13f, "0.00012207031"}, {0x1.000002p-13f, "0.00012207033"}, {0x1.fffffep-14f, "0.000122070305"},
      {0x1.fffffep-1f, "0.99999994"}, {0.5f, "0.5"}, {0.001f, "0.001"}, {0.3f, "0.3"}, {-0.3f, "-0.3"},
      {std::numeric_limits<float>::denorm_min(), "1e-45"}, {std::numeric_limits<float>::max(), "3.4028235e+38"}};
  for (const auto& [value, text] : cases) EXPECT(text_of(value) == text);
  std::mt19937 random(1);
  for (int i = 0; i < 200000; i++) {
    const uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) EXPECT(std::strtof(text_of(value).c_str(), nullptr) == value);
  }
}

void test_date_times() {
  instant at;
  const auto reads = [&](const std::string& text) { return read_date_time(bytes_of(text.c_str()), text.size(), at); };
  EXPECT(reads("1970-01-01T00:00:01.5Z") && at.ms == 1500 && at.fraction == 0);
  EXPECT(reads("1970-01-01T09:00:00.0005+09:00") && at.ms == 0 && at.fraction == 0.5);
  EXPECT(reads("2016-12-31T23:59:60Z") && !reads("2016-12-31T23:30:60Z"));
  EXPECT(reads("2024-02-29T00:00:00z") && !reads("2023-02-29T00:00:00Z"));
  for (const char* text : {"", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00.Z", "2024-13-01T00:00:00Z"})
    EXPECT(!reads(text));
}

void test_integers() {
  double value;
  /// The last byte is the next token.
  const auto reads = [&](const char* text) {
    return read_integer(bytes_of(text), bytes_of(text) + std::strlen(text) - 1, value);
  };
  for (const char* text : {"7,", "7.0}", "-7]", "1234567890123456 ,"}) EXPECT(reads(text));
  EXPECT(reads("90071992,") && value == 90071992);
  for (const char* text : {"01,", "7.5,", "1e3,", "12345678901234567,", "x,", "-,"}) EXPECT(!reads(text));
  const auto short_integer = [](const std::string& text) {
    const std::string padded = text + ",\"next\":12345678";
    return read_short_integer(bytes_of(padded.c_str()), bytes_of(padded.c_str()) + text.size());
  };
  for (int64_t number = 1; number < 100000000; number = number * 3 + 1)
    EXPECT(short_integer(std::to_string(number)) == number);
  EXPECT(short_integer("0") == 0 && short_integer("99999999") == 99999999);
  for (const char* text : {"123456789", "01", "00", "7 ", "-7", "7.0", "1e3", "1:", "1/", "null", "\x80"})
    EXPECT(short_integer(text) == -1);
}

void test_keys_have_codes_in_order_of_appearance() {
  std::vector<std::string> texts;
  for (int i = 0; i < 50000; i++) texts.push_back("key " + std::to_string(i * 7919));
  key_table table;
  for (int round = 0; round < 2; round++) {
    table.clear();
    for (uint32_t i = 0; i < texts.size(); i++) EXPECT(table.code_of(texts[i]) == i);
    for (uint32_t i = 0; i < texts.size(); i++) EXPECT(table.code_of(texts[i]) == i);
    EXPECT(table.texts().size() == texts.size());
  }
}

void test_recent_keys_are_found_without_a_look_up() {
  key_table table;
  const std::string body = R"("a","","twelve bytes","a text of more than thirty bytes, which is not kept",)";
  const uint8_t* const start = bytes_of(body.c_str());
  const auto recent = [&](size_t from, size_t to) { return table.recent_code(start + from, start + to); };
  const std::pair<size_t, size_t> places[] = {{0, 3}, {4, 6}, {7, 21}, {22, body.size() - 1}};
  for (const auto& [from, to] : places) {
    EXPECT(recent(from, to) == key_table::unknown_code);
    table.cache(start + from, start + to, 7);
    EXPECT(recent(from, to) == (to - from > 32 ? key_table::unknown_code : 7));
    // White space after a value: the next token is further on.
    EXPECT(recent(from, to + 1) == key_table::unknown_code);
    table.clear();
    EXPECT(recent(from, to) == key_table::unknown_code);
  }
}

/// The measures of a text, which is followed by as many bytes as it needs and no more.
text_measures measures_of(const std::string& text, bool html) {
  std::vector<uint8_t> padded(1, '"');
  padded.insert(padded.end(), text.begin(), text.end());
  padded.resize(padded.size() + text_padding_bytes, '"');
  padded.shrink_to_fit();
  return measure_text(padded.data() + 1, text.size(), html);
}

void test_two_lines_have_the_measures_of_both() {
  const char* const pieces[] = {"a", "Z9", " ", "?!", "한", "ㅋㅋ", "漢", "😀", "\u3000", "\u00a0", "<img src=x>", "<a b>", "\t"};
  std::mt19937 random(2);
  const auto line = [&] {
    std::string text;
    for (size_t i = random() % 200; i > 0; i--) text += pieces[random() % std::size(pieces)];
    return text;
  };
  for (int round = 0; round < 3000; round++) {
    const std::string lines[] = {line(), line()};
    for (const bool html : {false, true}) {
      text_measures both = measures_of(lines[0] + "\n" + lines[1], html);
      text_measures first = measures_of(lines[0], html), second = measures_of(lines[1], html);
      EXPECT(both[text_measure::chars]-- > 0 && both[text_measure::spaces]-- > 0);
      for (uint32_t i = 0; i <= static_cast<uint32_t>(text_measure::links); i++)
        EXPECT(both.counts[i] == first.counts[i] + second.counts[i]);
    }
  }
}

void test_a_block_has_the_rows_of_every_column() {
  const decode_table table = cycle_table();
  column_memory memory(table);
  std::vector<uint32_t> row_counts = {1, 3, 0, 2, 5};
  for (const size_t body_bytes : {2000, 200000, 400}) {
    const column_set columns = memory.reserve(body_bytes);
    const auto room = [&](size_t i) {
      return size_t{columns.row_capacities[table.columns[i].object]} * table.columns[i].entry_bytes;
    };
    for (size_t i = 0; i < table.columns.size(); i++) {
      EXPECT(reinterpret_cast<uintptr_t>(columns.starts[i]) % table.columns[i].entry_bytes == 0);
      std::memset(columns.starts[i], static_cast<int>(i), room(i));
    }
    // No column has overwritten another one.
    for (size_t i = 0; i < table.columns.size(); i++)
      for (size_t k = 0; k < room(i); k++) EXPECT(static_cast<uint8_t*>(columns.starts[i])[k] == i);
    std::vector<uint8_t> block(memory.block_bytes(row_counts));
    memory.copy(row_counts, block.data());
    size_t at = 0;
    for (size_t i = 0; i < table.columns.size(); i++) {
      const size_t bytes = size_t{row_counts[table.columns[i].object]} * table.columns[i].entry_bytes;
      for (size_t k = 0; k < bytes; k++) EXPECT(block[at + k] == i);
      at += (bytes + 7) / 8 * 8;
    }
    EXPECT(at == block.size());
  }
}

void test_column_programs() {
  using op = column_operation;
  const double one = 1;
  const uint32_t outputs[] = {1, 3};
  for (const uint32_t rows : {0, 1, 3, 63, 64, 65, 1500}) {
    std::vector<double> column(rows);
    std::vector<uint32_t> index(rows);
    for (uint32_t row = 0; row < rows; row++) {
      index[row] = rows - 1 - row;
      column[row] = row;
    }
    column_instruction code[] = {{op::load, 0, 0}, {op::add, 1, 0}, {op::signedLog1p, 2, 2}};
    column_program program = {rows, {code, 3}, {&one, 1}, {outputs, 2}, {}, {{index.data(), rows}}};
    program.columns = {{column.data(), rows, column_type::float64, 0}};
    EXPECT(is_sound(program));
    std::vector<float> matrix(rows * 2);
    run_columns(program, matrix.data());
    for (size_t row = 0; row < rows; row++) {
      const double x = column[index[row]];
      EXPECT(matrix[row * 2] == static_cast<float>(x));
      EXPECT(std::fabs(matrix[row * 2 + 1] - static_cast<float>(std::log1p(x + 1))) < 1e-5f);
    }
    code[1].a = 2;
    EXPECT(!is_sound(program));
  }
}

}  // namespace

int main() {
  test_floats_have_the_shortest_text();
  test_date_times();
  test_integers();
  test_keys_have_codes_in_order_of_appearance();
  test_recent_keys_are_found_without_a_look_up();
  test_two_lines_have_the_measures_of_both();
  test_a_block_has_the_rows_of_every_column();
  test_column_programs();
  std::puts("all tests of the native codec passed");
}
