// Columns of numbers as they stand on the disk: what pack.ts writes, byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace understudy {

/// What a column takes at most.
[[nodiscard]] size_t packed_column_bytes_max(size_t row_count) noexcept;

/// Writes a column in the narrowest form that holds its first `row_count` values, with its head and padding, and returns
/// where it ends. `out` has room for `packed_column_bytes_max` and is aligned to 8. `number`: double, uint32_t or uint8_t.
template <typename number>
[[nodiscard]] uint8_t* write_packed_column(const number* values, size_t row_count, uint8_t* out) noexcept;

}  // namespace understudy
