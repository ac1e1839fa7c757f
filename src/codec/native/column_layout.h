// The object and the width of each column of a plan: with them, memory from JavaScript is checked before the decoder
// writes to it.
#pragma once

#include <cstdint>
#include <vector>

#include "plan.h"

namespace understudy {

struct column_layout {
  /// Index of the object whose rows the column has.
  uint32_t object;
  /// Bytes of an entry, which is also its alignment: 1, 4 or 8; 0 for a column that no member fills.
  uint32_t entry_bytes;
};

/// One entry for each column of the plan.
[[nodiscard]] std::vector<column_layout> layout_of(const decode_plan& plan);

}  // namespace understudy
