// Stage 1 of simdjson: where the tokens of a body start. It checks UTF-8 and raw control characters on the
// way and picks the machine's best instructions at run time. Stage 2 (DOM or On-Demand) is replaced by our
// own walk over every token: On-Demand does not validate the values that it skips.
#pragma once

#include <memory>

#include "padded_bytes.h"
#include "simdjson.h"

namespace understudy {

/// Offsets of all tokens of a body: brackets, commas, colons, opening quotes and the starts of other scalars.
class structural_index {
 public:
  /// Indexes `body`; the offsets are valid until the next call. False for invalid UTF-8, an open string, a raw control
  /// character, and a body that is too long for simdjson.
  [[nodiscard]] bool find(padded_bytes body) noexcept;

  [[nodiscard]] const uint32_t* begin() const noexcept { return stage_->structural_indexes.get(); }
  [[nodiscard]] const uint32_t* end() const noexcept { return begin() + stage_->n_structural_indexes; }

 private:
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage_;
  size_t capacity_bytes_ = 0;
};

}  // namespace understudy
