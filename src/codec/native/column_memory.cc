// See column_memory.h.
#include "column_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace understudy {

namespace {

// Columns whose starts differ by a multiple of 4 KiB would map to the same cache sets, so each gets one extra line.
constexpr size_t line_bytes = 64;
constexpr size_t alignment = 8;

[[nodiscard]] size_t round_up(size_t bytes, size_t step) noexcept { return (bytes + step - 1) / step * step; }

}  // namespace

column_memory::column_memory(decode_table table)
    : table_(std::move(table)), row_capacities_(table_.objects.size()), starts_(table_.columns.size()) {}

column_set column_memory::reserve(size_t body_bytes) {
  for (size_t object = 0; object < table_.objects.size(); object++) {
    const object_rule& rule = table_.objects[object];
    const size_t count = body_bytes / rule.row_bytes_min + 1;
    row_capacities_[object] = static_cast<uint32_t>(std::min<size_t>(count, rule.row_count_max));
  }
  const auto column_bytes = [&](const column_rule& column) {
    return round_up(size_t{row_capacities_[column.object]} * column.entry_bytes, line_bytes) + line_bytes;
  };
  size_t bytes = 0;
  for (const column_rule& column : table_.columns) bytes += column_bytes(column);
  if (bytes > memory_bytes_) {
    memory_.reset();
    // Not initialised: pages that no row touches take no memory.
    memory_.reset(new uint8_t[bytes]);
    memory_bytes_ = bytes;
  }
  uint8_t* start = memory_.get();
  for (size_t index = 0; index < starts_.size(); index++) {
    starts_[index] = start;
    start += column_bytes(table_.columns[index]);
  }
  return {starts_.data(), row_capacities_.data()};
}

size_t column_memory::block_bytes(const std::vector<uint32_t>& row_counts) const noexcept {
  size_t bytes = 0;
  for (const column_rule& column : table_.columns)
    bytes += round_up(size_t{row_counts[column.object]} * column.entry_bytes, alignment);
  return bytes;
}

void column_memory::copy(const std::vector<uint32_t>& row_counts, uint8_t* to) const noexcept {
  for (size_t index = 0; index < starts_.size(); index++) {
    const column_rule& column = table_.columns[index];
    const size_t bytes = size_t{row_counts[column.object]} * column.entry_bytes;
    std::memcpy(to, starts_[index], bytes);
    to += round_up(bytes, alignment);
  }
}

}  // namespace understudy
