// Which rows a column of a plan counts and how wide its entries are: what is needed to check memory that
// JavaScript hands over before anything is written to it.
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

/// One entry a column of the plan.
[[nodiscard]] std::vector<column_layout> layout_of(const decode_plan& plan);

}  // namespace understudy
