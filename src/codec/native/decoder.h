// The decoder: one pass over the tokens of a body, straight into columns. It accepts a body only if the reference
// decoder accepts it, with the same columns, and if the unknown members, which it only notes, are JSON. It refuses all other
// and all unusual bodies, and the reference decides about them: names and short texts with escapes, repeated members, half
// surrogate pairs, numbers with an exponent, unknown members that are large or nested deep.
// It does not use N-API, so that it can be fuzzed alone.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "date_time.h"
#include "decode_table.h"
#include "key_table.h"
#include "padded_bytes.h"
#include "short_text.h"
#include "structural_index.h"
#include "text_measures.h"

namespace understudy {

/// Where columns are and how many rows they hold.
struct column_set {
  /// The start of each column of the table, aligned for its type.
  void* const* starts;
  /// One number for each object of the table; 1 for the body. A body with more rows is refused.
  const uint32_t* row_capacities;
};

/// A member that the table lacks: its name, colon and value are at `start` to `end` of the body. Not checked but for its brackets.
struct unknown_member {
  uint32_t object;
  uint32_t row;
  uint32_t start;
  uint32_t end;
};

/// The result of a decode besides the columns. Texts are views into the body or the decoder.
struct decode_findings {
  /// Rows of each object.
  std::vector<uint32_t> row_counts;
  /// Indices of the body's known members in their order in the body.
  std::vector<uint32_t> member_order;
  /// Distinct keys in order of first appearance in the body.
  std::vector<std::string_view> keys;
  /// Texts of the kind `measured_text`, without escapes, in their order in the body.
  std::vector<std::string_view> texts;
  /// In their order in the body.
  std::vector<unknown_member> unknown_members;
};

/// The last short date-time of a member: the rows of a cycle often have the same.
struct recent_date_time {
  short_text quoted{""};
  /// Length without the quotes; 0 for none.
  uint32_t bytes = 0;
  instant at = {};
};

/// A member of the table with what the decoder has derived from it, and with guesses, which are checked.
struct member_plan : member_rule {
  explicit member_plan(const member_rule& rule);

  [[nodiscard]] bool is_nullable() const noexcept { return (flags & nullable) != 0; }

  short_text quoted_name;
  std::vector<short_text> quoted_values;
  /// Index of the object whose rows a member `rows` has.
  uint32_t object = 0;

  /// The member that followed last time, the last enum code, the last date-time.
  uint32_t successor = 0;
  uint32_t last_code = 0;
  recent_date_time recent;
};

struct object_plan {
  std::vector<member_plan> members;
  uint32_t slice_column;
  /// One bit a member.
  uint64_t required_mask = 0;
  uint64_t all_mask = 0;
  /// A guess, like `successor`.
  uint32_t first_member = 0;
};

/// Used for one body after the other: it keeps its memory and its guesses.
class decoder {
 public:
  explicit decoder(const decode_table& table);

  /// Fills `columns` from `body`. False for a body that the reference decoder has to examine. May throw std::bad_alloc and
  /// nothing else.
  [[nodiscard]] bool decode(padded_bytes body, column_set columns);

  /// The findings of the last body that was decoded.
  [[nodiscard]] const decode_findings& findings() const noexcept { return findings_; }

 private:
  // Each takes the token at which a value starts and returns the token after the value, or null if it refuses the body.
  const uint32_t* decode_object(object_plan& plan, uint32_t object, uint32_t row, const uint32_t* at);
  const uint32_t* decode_member(member_plan& member, uint32_t row, const uint32_t* at);
  const uint32_t* decode_rows(uint32_t object, const uint32_t* at);
  const uint32_t* note_unknown(uint32_t object, uint32_t row, const uint32_t* at);
  const uint32_t* decode_integers(const member_plan& member, uint32_t row, const uint32_t* at);

  // Values of one token at `token`; `next` is the token after it. False if they refuse the body.
  bool decode_scalar(member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next);
  bool decode_integer(const member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next);
  bool decode_cycle_id(const member_plan& member, uint32_t row, const uint8_t* token);
  bool decode_key(const member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next);
  bool decode_text(const member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next);
  bool decode_date_time(member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next);
  bool decode_enum_text(member_plan& member, uint32_t row, const uint8_t* token);
  bool decode_enum_number(const member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next);

  void write_date_time(const member_plan& member, uint32_t row, instant at, uint32_t start,
                       uint32_t end) noexcept;
  [[nodiscard]] bool finish_row(const object_plan& plan, uint32_t row, uint64_t seen) noexcept;
  void write_measures(const member_plan& member, uint32_t row, const text_measures& measures, bool present) noexcept;
  void write_absent(const member_plan& member, uint32_t row) noexcept;

  template <typename Value>
  [[nodiscard]] Value* column(uint32_t index) const noexcept {
    return static_cast<Value*>(columns_.starts[index]);
  }

  std::vector<object_plan> objects_;
  structural_index index_;
  key_table keys_;
  decode_findings findings_;
  std::vector<uint8_t> unescaped_;
  /// Those of `findings_.texts` that have escapes in the body. A deque does not move them.
  std::deque<std::string> unescaped_texts_;
  std::vector<uint64_t> integers_;
  /// Bytes, arrays and objects of `findings_.unknown_members`.
  uint64_t unknown_bytes_ = 0;
  uint32_t unknown_containers_ = 0;
  padded_bytes body_ = {};
  column_set columns_ = {};
  const uint32_t* end_ = nullptr;
};

}  // namespace understudy
