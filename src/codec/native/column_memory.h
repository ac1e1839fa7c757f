// The memory that a decoder fills. It has room for as many rows as a body of some length can contain, most of it unused, and
// is used for one body after the other; the rows that a body has are copied into one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "decode_table.h"
#include "decoder.h"

namespace understudy {

class column_memory {
 public:
  explicit column_memory(decode_table table);

  /// Columns with room for a body of `body_bytes` bytes; their values are undefined. Valid until the next call.
  [[nodiscard]] column_set reserve(size_t body_bytes);

  /// Bytes of a block with the first rows of each column: in the order of the table, each from a multiple of 8 bytes on.
  [[nodiscard]] size_t block_bytes(const std::vector<uint32_t>& row_counts) const noexcept;
  /// Writes such a block at `to`.
  void copy(const std::vector<uint32_t>& row_counts, uint8_t* to) const noexcept;

 private:
  decode_table table_;
  std::unique_ptr<uint8_t[]> memory_;
  size_t memory_bytes_ = 0;
  std::vector<uint32_t> row_capacities_;
  std::vector<void*> starts_;
};

}  // namespace understudy
