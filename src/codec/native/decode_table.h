// The table of a decode: the body and the rows of its lists as objects with members, what each member may hold, and which
// columns it fills. scripts/decode-table.mjs generates the one table from the contract; the decoder knows no posts or cycles.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace understudy {

/// The kind of value of a member, and its columns in order.
enum class value_kind : uint8_t {
  /// A string that is checked and dropped. No columns.
  ignored_text,
  /// `YYYYMMDDTHHMM`. u32 start and end in the body.
  cycle_id,
  /// A non-empty string that becomes a number. u32 code.
  key,
  /// A string of which the measures are kept, and the text itself. 18 × u32.
  measured_text,
  /// A string with markup of which the measures are kept, all 0 when it is absent. 18 × u32, optionally u8 presence.
  measured_html,
  /// Its instant: f64 milliseconds (NaN for null), optionally f64 fraction, u32 start and end in the body.
  date_time,
  /// f64, NaN for null and when absent.
  integer,
  /// A list of distinct positive integers. f64 length (NaN when absent), u32 fingerprint that depends on the order.
  distinct_integers,
  /// u8 position in `values`, `absent_code` when absent.
  enum_text,
  /// An integer below 255 in the range. u8 the number itself.
  enum_number,
  /// A list of objects, which has no columns itself: the n-th one of the body has the rows of object n.
  rows,
};

/// Code of an enum member that is absent.
inline constexpr uint8_t absent_code = 255;

enum member_flags : uint32_t { optional = 0, required = 1, nullable = 2 };

inline constexpr uint32_t no_row_limit = ~uint32_t{0};
inline constexpr uint32_t no_column = ~uint32_t{0};

struct member_rule {
  /// Needs no escape in JSON, like the values.
  std::string_view name;
  value_kind kind;
  uint32_t flags;
  /// Its columns follow each other.
  struct {
    uint32_t first;
    uint32_t count;
  } columns;
  /// Range of an integer; `maximum` of a text is in characters: one with more bytes is left to the reference decoder.
  struct {
    double minimum = 0;
    double maximum = std::numeric_limits<double>::infinity();
  } limits = {};
  std::vector<std::string_view> values = {};
  /// The member must be there when the enum member with this index has this code.
  struct {
    int32_t member = -1;
    uint8_t code = 0;
  } condition = {};
};

struct object_rule {
  uint32_t row_count_max;
  /// A lower bound on the length of a row in the body.
  uint32_t row_bytes_min;
  /// The first of two columns for start and end of each row in the body, or `no_column`.
  uint32_t slice_column;
  std::vector<member_rule> members;
};

struct column_rule {
  /// Index of the object whose rows the column has.
  uint32_t object;
  /// Bytes of an entry, which is also its alignment: 1, 4 or 8.
  uint32_t entry_bytes;
  /// A name, or a group and a name in it, such as `title.chars`.
  const char* name;
};

/// Object 0 is the body itself.
struct decode_table {
  std::vector<column_rule> columns;
  std::vector<object_rule> objects;
};

[[nodiscard]] decode_table cycle_table();

/// Identifies the contract that the table was generated from (`shapeHash` in native-addon.ts).
extern const char* const cycle_shape_hash;

}  // namespace understudy
