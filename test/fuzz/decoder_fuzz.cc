// Fuzz target for the native decoder, without N-API: any bytes are refused or decoded without out-of-bounds access,
// and what is decoded is JSON to simdjson's DOM and to an independent grammar.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "decoder.h"
#include "json_grammar.h"
#include "simdjson.h"
#include "text_measures.h"

namespace {

using understudy::column_set;
using understudy::decoder;

/// Few rows, so that the fuzzer reaches the limit of a list.
constexpr uint32_t row_capacity = 3;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// The decoder, with every column in its own allocation, so that ASan sees every write beyond a column.
class target {
 public:
  target() {
    const understudy::decode_table table = understudy::cycle_table();
    capacities_.assign(table.objects.size(), row_capacity);
    capacities_[0] = 1;
    for (const understudy::column_rule& column : table.columns) {
      columns_.emplace_back(size_t{capacities_[column.object]} * column.entry_bytes);
      // Spare capacity would hide a write beyond the column.
      columns_.back().shrink_to_fit();
      starts_.push_back(columns_.back().data());
    }
    decoder_ = std::make_unique<decoder>(table);
  }

  /// Decodes an exact copy of the body with its padding, filled with `filler`.
  bool decode(const uint8_t* body, size_t bytes, uint8_t filler) {
    std::vector<uint8_t> padded(bytes + understudy::body_padding_bytes, filler);
    if (bytes > 0) std::memcpy(padded.data(), body, bytes);
    return decoder_->decode({padded.data(), bytes}, {starts_.data(), capacities_.data()});
  }

  [[nodiscard]] const std::vector<std::vector<uint8_t>>& columns() const { return columns_; }

 private:
  std::vector<uint32_t> capacities_;
  std::vector<std::vector<uint8_t>> columns_;
  std::vector<void*> starts_;
  std::unique_ptr<decoder> decoder_;
};

/// The measures of a text are those of its parts, at any position in the vectors, and whatever follows the text.
void check_measures(const uint8_t* data, size_t bytes) {
  if (!simdjson::validate_utf8(reinterpret_cast<const char*>(data), bytes)) return;
  const std::string text(data, data + bytes);
  const auto measures_of = [](const std::string& whole, bool html, char filler) {
    const std::string padded = '"' + whole + std::string(understudy::text_padding_bytes, filler);
    const auto* start = reinterpret_cast<const uint8_t*>(padded.data());
    return understudy::measure_text(start + 1, whole.size(), html);
  };
  for (const bool html : {false, true}) {
    const auto one = measures_of(text, html, '"'), other = measures_of(text, html, '>');
    if (std::memcmp(one.counts, other.counts, sizeof one.counts) != 0) fail("the padding changes the measures");
  }
  const auto one = measures_of(text, false, '"'), two = measures_of(text + "\n" + text, false, '"');
  for (uint32_t i = 0; i <= static_cast<uint32_t>(understudy::text_measure::emoji); i++) {
    const auto measure = static_cast<understudy::text_measure>(i);
    const bool counts_newline = measure == understudy::text_measure::chars || measure == understudy::text_measure::spaces;
    if (two.counts[i] != 2 * one.counts[i] + counts_newline) fail("a text has other measures than its parts");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static target fuzzed;
  static simdjson::dom::parser oracle;
  const bool accepted = fuzzed.decode(data, bytes, 0);
  const auto columns = fuzzed.columns();
  // The bytes after the body must not matter: digits, quotes and braces would extend a token.
  for (const uint8_t filler : {uint8_t{'0'}, uint8_t{'"'}, uint8_t{'}'}}) {
    if (fuzzed.decode(data, bytes, filler) != accepted) fail("the padding changes the outcome");
    if (accepted && fuzzed.columns() != columns) fail("the padding changes the columns");
  }
  if (accepted) {
    if (!simdjson::validate_utf8(reinterpret_cast<const char*>(data), bytes))
      fail("accepted invalid UTF-8");
    if (!json_grammar::accepts(data, bytes)) fail("accepted invalid JSON");
    // The DOM is stricter than JSON in two places: half a surrogate pair, and numbers beyond a double.
    const simdjson::error_code error = oracle.parse(data, bytes).error();
    const bool stricter = error == simdjson::STRING_ERROR || error == simdjson::NUMBER_ERROR;
    if (error != simdjson::SUCCESS && !stricter) fail("accepted what simdjson refuses");
  }
  check_measures(data, bytes);
  return 0;
}
