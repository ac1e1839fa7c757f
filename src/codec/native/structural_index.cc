// See structural_index.h.
#include "structural_index.h"

#include <new>

namespace understudy {

namespace {

constexpr size_t capacity_step_bytes = size_t{1} << 20;
// simdjson keeps an offset of four bytes for each byte of capacity. Pages that no body touched cost nothing,
// but a hostile body of brackets would leave 64 MiB resident permanently.
constexpr uint32_t kept_token_count_max = uint32_t{1} << 21;

}  // namespace

bool structural_index::find(padded_bytes body) noexcept {
  if (body.bytes >= simdjson::SIMDJSON_MAXSIZE_BYTES) return false;
  const bool bloated = stage_ && stage_->n_structural_indexes > kept_token_count_max;
  if (!stage_ || bloated || capacity_bytes_ < body.bytes) {
    const size_t capacity = (body.bytes / capacity_step_bytes + 1) * capacity_step_bytes;
    stage_.reset();
    if (simdjson::active_implementation->create_dom_parser_implementation(capacity, 1, stage_)) {
      stage_.reset();
      return false;
    }
    capacity_bytes_ = capacity;
  }
  return stage_->stage1(body.data, body.bytes, false) == simdjson::SUCCESS;
}

}  // namespace understudy
