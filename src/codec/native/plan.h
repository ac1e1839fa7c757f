// The plan of a decode: objects with members, what each member may hold and which columns it fills. The
// decoder does not depend on posts or cycles; `native-plan.ts` derives the plan from the contract's types and hands
// it over as JSON.
//
//   {"column_count": 2, "objects": [{"slice": [], "members": [
//     {"name": "views", "kind": "integer", "required": true, "nullable": true,
//      "minimum": 0, "maximum": 9007199254740991, "columns": [0]}]}]}
//
// Object 0 is the body itself; a member of kind `rows` names the object that its rows are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "date_time.h"
#include "short_text.h"

namespace understudy {

/// The kind of value of a member, and its columns in order.
enum class value_kind : uint8_t {
  /// A string that is checked and dropped. No columns.
  ignored_text,
  /// A string of fixed form: `pattern`, where `0` stands for any digit. u32 start and end in the body.
  fixed_text,
  /// A non-empty string that becomes a number. u32 code.
  key,
  /// A string of which the measures are kept, all 0 when it is absent. 18 × u32, optionally u8 presence.
  measured_text,
  /// Its instant: f64 milliseconds (NaN for null), optionally f64 fraction, u32 start and end in the body.
  date_time,
  /// f64, NaN for null and when absent.
  integer,
  /// f64 length (NaN when absent), u32 fingerprint that depends on the order.
  integer_list,
  /// u8 position in `values`, 255 when absent.
  enum_text,
  /// An integer below 255 in the range. u8 the number itself.
  enum_number,
  /// A list of objects, which has no columns itself.
  rows,
};

/// Code of an enum member that is absent.
inline constexpr uint8_t absent_code = 255;

/// One word has a bit for each member that an object contains.
inline constexpr uint32_t member_count_max = 64;

/// The last short date-time of a member: the rows of a cycle often have the same.
struct recent_date_time {
  short_text quoted{""};
  /// Without the quotes; 0 for none.
  uint32_t bytes = 0;
  instant at = {};
};

struct member_plan {
  explicit member_plan(std::string_view member_name) : name(member_name) {}

  short_text name;
  value_kind kind = value_kind::ignored_text;
  bool required = false;
  bool nullable = false;
  bool html = false;
  bool unique = false;
  double minimum = 0;
  double maximum = 0;
  std::string pattern;
  /// Most characters of a text. One with more bytes is left to the reference decoder, which counts its characters.
  size_t chars_max = ~size_t{0};
  std::vector<short_text> values;
  /// The member must be there when the enum member `condition_member` has the code `condition_code`.
  int32_t condition_member = -1;
  uint8_t condition_code = 0;
  /// Index of the object that rows are.
  uint32_t rows = 0;
  std::vector<uint32_t> columns;

  // Guesses, which are checked: the member that followed last time, the last enum code, the last date-time.
  uint32_t successor = 0;
  uint32_t last_code = 0;
  recent_date_time recent;
};

struct object_plan {
  std::vector<member_plan> members;
  /// Columns for start and end of each row in the body, or none.
  std::vector<uint32_t> slice;
  /// One bit a member.
  uint64_t required_mask = 0;
  uint64_t all_mask = 0;
  /// A guess, like `successor`.
  uint32_t first_member = 0;
};

/// With the layout, memory from JavaScript is checked before the decoder writes to it.
struct column_layout {
  /// Index of the object whose rows the column has.
  uint32_t object;
  /// Bytes of an entry, which is also its alignment: 1, 4 or 8; 0 for a column that no member fills.
  uint32_t entry_bytes;
};

struct decode_plan {
  std::vector<column_layout> columns;
  std::vector<object_plan> objects;
};

/// Reads a plan. Nothing when it is not a plan that the decoder can follow: names that need escapes or are too
/// long, kinds that do not exist, indices out of range.
[[nodiscard]] std::optional<decode_plan> read_plan(std::string_view json);

}  // namespace understudy
