// See column_layout.h.
#include "column_layout.h"

#include "text_measures.h"

namespace understudy {

namespace {

/// Bytes of an entry in the `index`th column of a member.
[[nodiscard]] uint32_t entry_bytes(value_kind kind, uint32_t index) noexcept {
  switch (kind) {
    case value_kind::integer:
      return sizeof(double);
    case value_kind::date_time:
      return index < 2 ? sizeof(double) : sizeof(uint32_t);
    case value_kind::integer_list:
      return index == 0 ? sizeof(double) : sizeof(uint32_t);
    case value_kind::measured_text:
      return index < text_measure_count ? sizeof(uint32_t) : sizeof(uint8_t);
    case value_kind::enum_text:
    case value_kind::enum_number:
      return sizeof(uint8_t);
    default:
      return sizeof(uint32_t);
  }
}

}  // namespace

std::vector<column_layout> layout_of(const decode_plan& plan) {
  std::vector<column_layout> layout(plan.column_count, column_layout{0, 0});
  for (uint32_t object = 0; object < plan.objects.size(); object++) {
    for (const uint32_t column : plan.objects[object].slice) layout[column] = {object, sizeof(uint32_t)};
    for (const member_plan& member : plan.objects[object].members) {
      for (uint32_t index = 0; index < member.columns.size(); index++) {
        layout[member.columns[index]] = {object, entry_bytes(member.kind, index)};
      }
    }
  }
  return layout;
}

}  // namespace understudy
