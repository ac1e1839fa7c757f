// The codes of keys (see decoder.h): they count in the order of the plan's lists, also where the body has the lists in
// another order.
#include "decoder.h"

namespace understudy {

bool decoder::lists_are_in_order() const noexcept {
  uint32_t last = 0;
  for (const uint32_t index : findings_.member_order) {
    const member_plan& member = plan_.objects[0].members[index];
    if (member.kind != value_kind::rows) continue;
    if (member.rows < last) return false;
    last = member.rows;
  }
  return true;
}

void decoder::renumber_keys() {
  constexpr uint32_t none = ~uint32_t{0};
  std::vector<uint32_t> renumbered(keys_.texts().size(), none);
  std::vector<std::string_view> texts;
  texts.reserve(renumbered.size());
  for (uint32_t object = 0; object < plan_.objects.size(); object++) {
    for (const member_plan& member : plan_.objects[object].members) {
      if (member.kind != value_kind::key) continue;
      uint32_t* codes = column<uint32_t>(member.columns[0]);
      for (uint32_t row = 0; row < findings_.row_counts[object]; row++) {
        uint32_t& code = renumbered[codes[row]];
        if (code == none) {
          code = static_cast<uint32_t>(texts.size());
          texts.push_back(keys_.texts()[codes[row]]);
        }
        codes[row] = code;
      }
    }
  }
  findings_.keys = std::move(texts);
}

}  // namespace understudy
