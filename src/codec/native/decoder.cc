// See decoder.h. A member takes four tokens: name, colon, value and separator. One check per member ensures that four
// tokens are left; values of several tokens have their own checks.
#include "decoder.h"

#include <algorithm>
#include <limits>

#include "date_time.h"
#include "scalars.h"

namespace understudy {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

constexpr uint32_t no_member = ~uint32_t{0};

/// Of the unknown members of a body, which JavaScript parses on the event loop: distinct names cost most, 0.8 MiB of them 40 ms.
/// And what the reference decoder never refuses: fewer levels than `jsonDepthMax` below a row, and fewer arrays and objects
/// than `jsonContainerCountMax` less those of rows.
constexpr uint64_t unknown_bytes_max = uint64_t{1} << 18;
constexpr uint32_t unknown_depth_max = 16;
constexpr uint32_t unknown_containers_max = 20'000;

/// `YYYYMMDDTHHMM`; `0` is any digit.
constexpr std::string_view cycle_id_form = "00000000T0000";

/// Index of the member whose quoted name starts at `name`, tried in the table's order, or `no_member`.
[[nodiscard]] uint32_t find_member(const object_plan& plan, const uint8_t* name) noexcept {
  for (uint32_t index = 0; index < plan.members.size(); index++) {
    if (plan.members[index].quoted_name.is_at(name)) return index;
  }
  return no_member;
}

/// Fingerprint of a list as codec/decode-cycle.ts defines it.
[[nodiscard]] uint32_t fingerprint_of(const std::vector<uint64_t>& integers) noexcept {
  uint32_t print = static_cast<uint32_t>(integers.size());
  for (const uint64_t value : integers) {
    print = print * 0x01000193 + static_cast<uint32_t>(value) + static_cast<uint32_t>(value >> 32);
  }
  return print;
}

/// Whether all integers are distinct. Sorts them.
[[nodiscard]] bool are_distinct(std::vector<uint64_t>& integers) {
  std::sort(integers.begin(), integers.end());
  return std::adjacent_find(integers.begin(), integers.end()) == integers.end();
}

}  // namespace

member_plan::member_plan(const member_rule& rule) : member_rule(rule), quoted_name(rule.name) {
  for (const std::string_view value : values) quoted_values.emplace_back(value);
}

decoder::decoder(const decode_table& table) {
  uint32_t next_object = 1;
  for (const object_rule& object : table.objects) {
    object_plan& plan = objects_.emplace_back();
    plan.slice_column = object.slice_column;
    uint64_t bit = 1;
    for (const member_rule& rule : object.members) {
      member_plan& member = plan.members.emplace_back(rule);
      if (rule.kind == value_kind::rows) member.object = next_object++;
      member.successor = static_cast<uint32_t>(plan.members.size() % object.members.size());
      plan.all_mask |= bit;
      if ((rule.flags & required) != 0) plan.required_mask |= bit;
      bit <<= 1;
    }
  }
  findings_.row_counts.resize(objects_.size());
}

bool decoder::decode(padded_bytes body, column_set columns) {
  body_ = body;
  columns_ = columns;
  keys_.clear();
  findings_.member_order.clear();
  findings_.texts.clear();
  findings_.unknown_members.clear();
  unknown_bytes_ = 0;
  unknown_containers_ = 0;
  unescaped_texts_.clear();
  std::fill(findings_.row_counts.begin(), findings_.row_counts.end(), 0);

  if (!index_.find(body)) return false;
  const uint32_t* at = index_.begin();
  end_ = index_.end();
  // The last token is a closing brace, so that no scan of a scalar can leave the body.
  if (end_ - at < 2 || body.data[*at] != '{' || body.data[end_[-1]] != '}') return false;
  findings_.row_counts[0] = 1;
  at = decode_object(objects_[0], 0, 0, at);
  if (at != end_) return false;
  findings_.keys = keys_.texts();
  return true;
}

const uint32_t* decoder::decode_object(object_plan& plan, uint32_t object, uint32_t row, const uint32_t* at) {
  const uint8_t* const body = body_.data;
  const uint32_t* const end = end_;
  if (end - at < 2) return nullptr;
  const bool has_slice = plan.slice_column != no_column;
  if (has_slice) column<uint32_t>(plan.slice_column)[row] = *at;
  uint64_t seen = 0;
  // The guess of the next member; a wrong guess is corrected for the next row.
  uint32_t* guess = &plan.first_member;
  member_plan* const members = plan.members.data();
  bool more = body[*++at] != '}';
  if (!more) at++;
  while (more) {
    if (end - at < 4) return nullptr;
    const uint8_t* name = body + at[0];
    uint32_t index = *guess;
    if (!members[index].quoted_name.is_at(name)) index = find_member(plan, name);
    if (index == no_member) {
      at = note_unknown(object, row, at);
    } else {
      member_plan& member = members[index];
      const uint64_t bit = uint64_t{1} << index;
      if ((seen & bit) != 0) return nullptr;
      seen |= bit;
      if (*guess != index) *guess = index;
      guess = &member.successor;
      if (object == 0) findings_.member_order.push_back(index);
      at = decode_member(member, row, at);
    }
    if (at == nullptr || at == end) return nullptr;
    const uint8_t separator = body[*at++];
    if (separator != ',' && separator != '}') return nullptr;
    more = separator == ',';
  }
  if (has_slice) column<uint32_t>(plan.slice_column + 1)[row] = at[-1] + 1;
  return finish_row(plan, row, seen) ? at : nullptr;
}

inline const uint32_t* decoder::decode_member(member_plan& member, uint32_t row, const uint32_t* at) {
  if (body_.data[at[1]] != ':') return nullptr;
  if (member.kind == value_kind::rows) return decode_rows(member.object, at + 2);
  if (member.kind == value_kind::distinct_integers) return decode_integers(member, row, at + 2);
  return decode_scalar(member, row, body_.data + at[2], body_.data + at[3]) ? at + 3 : nullptr;
}

const uint32_t* decoder::note_unknown(uint32_t object, uint32_t row, const uint32_t* at) {
  const uint8_t* const body = body_.data;
  const uint32_t start = at[0];
  // A name with an escape may be that of a known member.
  const uint8_t* const close = body[start] == '"' ? closing_quote(body + start, body + at[1]) : nullptr;
  if (close == nullptr || has_escape(body + start, close) || body[at[1]] != ':') return nullptr;
  at += 2;
  uint32_t depth = 0;
  do {
    if (at == end_) return nullptr;
    // Without this bit, `{` and `[` are equal, and `}` and `]`.
    const uint8_t bracket = body[*at++] | 0x20;
    if (bracket == '{') {
      if (++depth > unknown_depth_max || ++unknown_containers_ > unknown_containers_max) return nullptr;
    } else if (bracket == '}' && depth-- == 0) {
      return nullptr;
    }
  } while (depth > 0);
  if (at == end_) return nullptr;
  unknown_bytes_ += *at - start;
  if (unknown_bytes_ > unknown_bytes_max) return nullptr;
  findings_.unknown_members.push_back({object, row, start, *at});
  return at;
}

inline bool decoder::decode_integer(const member_plan& member, uint32_t row, const uint8_t* token,
                                    const uint8_t* next) {
  double& value = column<double>(member.columns.first)[row];
  const int64_t digits = read_short_integer(token, next);
  value = static_cast<double>(digits);
  // One branch for three conditions that mostly hold.
  if ((digits >= 0) & (value >= member.limits.minimum) & (value <= member.limits.maximum)) return true;
  if (member.is_nullable() && is_null(token, next)) {
    value = not_a_number;
    return true;
  }
  return read_integer(token, next, value) && value >= member.limits.minimum && value <= member.limits.maximum;
}

inline bool decoder::decode_scalar(member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next) {
  switch (member.kind) {
    case value_kind::integer:
      return decode_integer(member, row, token, next);
    case value_kind::key:
      return decode_key(member, row, token, next);
    case value_kind::date_time:
      return decode_date_time(member, row, token, next);
    case value_kind::enum_text:
      return decode_enum_text(member, row, token);
    case value_kind::enum_number:
      return decode_enum_number(member, row, token, next);
    case value_kind::cycle_id:
      return decode_cycle_id(member, row, token);
    default:
      return decode_text(member, row, token, next);
  }
}

bool decoder::decode_cycle_id(const member_plan& member, uint32_t row, const uint8_t* token) {
  if (*token != '"') return false;
  const uint8_t* at = token + 1;
  for (const char form : cycle_id_form) {
    // A digit written as an escape is left to the reference decoder, like every other unusual spelling.
    if (form == '0' ? *at - uint32_t{'0'} > 9 : *at != static_cast<uint8_t>(form)) return false;
    at++;
  }
  if (*at != '"') return false;
  column<uint32_t>(member.columns.first)[row] = static_cast<uint32_t>(token + 1 - body_.data);
  column<uint32_t>(member.columns.first + 1)[row] = static_cast<uint32_t>(at - body_.data);
  return true;
}

bool decoder::decode_key(const member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next) {
  uint32_t& code = column<uint32_t>(member.columns.first)[row];
  code = keys_.recent_code(token, next);
  if (code != key_table::unknown_code) return true;
  if (*token != '"') return false;
  const uint8_t* close = closing_quote(token, next);
  if (close == nullptr || has_escape(token, close)) return false;
  const size_t bytes = static_cast<size_t>(close - token) - 1;
  if (bytes == 0 || static_cast<double>(bytes) > member.limits.maximum) return false;
  code = keys_.code_of({reinterpret_cast<const char*>(token + 1), bytes});
  keys_.cache(token, close + 1, code);
  return true;
}

bool decoder::decode_text(const member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next) {
  if (*token != '"') return false;
  const uint8_t* text = token + 1;
  const uint8_t* close = closing_quote(token, next);
  if (close == nullptr) return false;
  size_t bytes = static_cast<size_t>(close - text);
  const bool has_escapes = has_escape(text, close);
  if (has_escapes) {
    if (!unescape(text, close, unescaped_)) return false;
    text = unescaped_.data() + unescape_margin_bytes;
    bytes = unescaped_.size() - 2 * unescape_margin_bytes;
  }
  if (static_cast<double>(bytes) > member.limits.maximum) return false;
  if (member.kind == value_kind::ignored_text) return true;
  write_measures(member, row, measure_text(text, bytes, member.kind == value_kind::measured_html), true);
  if (member.kind == value_kind::measured_text) {
    const std::string_view kept{reinterpret_cast<const char*>(text), bytes};
    // The next text with escapes overwrites `unescaped_`.
    findings_.texts.push_back(has_escapes ? std::string_view{unescaped_texts_.emplace_back(kept)} : kept);
  }
  return true;
}

void decoder::write_measures(const member_plan& member, uint32_t row, const text_measures& measures,
                             bool present) noexcept {
  for (uint32_t measure = 0; measure < text_measure_count; measure++)
    column<uint32_t>(member.columns.first + measure)[row] = measures.counts[measure];
  if (member.columns.count > text_measure_count)
    column<uint8_t>(member.columns.first + text_measure_count)[row] = present;
}

bool decoder::decode_date_time(member_plan& member, uint32_t row, const uint8_t* token, const uint8_t* next) {
  const uint32_t start = static_cast<uint32_t>(token + 1 - body_.data);
  const recent_date_time& recent = member.recent;
  if (recent.bytes > 0 && recent.quoted.is_at(token)) {
    write_date_time(member, row, recent.at, start, start + recent.bytes);
    return true;
  }
  if (member.is_nullable() && is_null(token, next)) {
    write_date_time(member, row, {not_a_number, 0}, 0, 0);
    return true;
  }
  if (*token != '"') return false;
  const uint8_t* close = closing_quote(token, next);
  if (close == nullptr) return false;
  const uint32_t bytes = static_cast<uint32_t>(close - token) - 1;
  instant at;
  if (!read_date_time(token + 1, bytes, at)) return false;
  write_date_time(member, row, at, start, start + bytes);
  if (bytes <= short_text::bytes_max)
    member.recent = {short_text({reinterpret_cast<const char*>(token + 1), bytes}), bytes, at};
  return true;
}

inline void decoder::write_date_time(const member_plan& member, uint32_t row, instant at, uint32_t start,
                                     uint32_t end) noexcept {
  column<double>(member.columns.first)[row] = at.ms;
  if (member.columns.count < 2) return;
  column<double>(member.columns.first + 1)[row] = at.fraction;
  if (member.columns.count < 4) return;
  column<uint32_t>(member.columns.first + 2)[row] = start;
  column<uint32_t>(member.columns.first + 3)[row] = end;
}

bool decoder::decode_enum_text(member_plan& member, uint32_t row, const uint8_t* token) {
  if (!member.quoted_values[member.last_code].is_at(token)) {
    uint32_t code = 0;
    while (code < member.quoted_values.size() && !member.quoted_values[code].is_at(token)) code++;
    if (code == member.values.size()) return false;
    member.last_code = code;
  }
  column<uint8_t>(member.columns.first)[row] = static_cast<uint8_t>(member.last_code);
  return true;
}

bool decoder::decode_enum_number(const member_plan& member, uint32_t row, const uint8_t* token,
                                 const uint8_t* next) {
  double value;
  if (!read_integer(token, next, value) || value < member.limits.minimum || value > member.limits.maximum) return false;
  column<uint8_t>(member.columns.first)[row] = static_cast<uint8_t>(value);
  return true;
}

const uint32_t* decoder::decode_rows(uint32_t object, const uint32_t* at) {
  object_plan& plan = objects_[object];
  const uint8_t* const body = body_.data;
  if (end_ - at < 2 || body[*at] != '[') return nullptr;
  if (body[*++at] == ']') return at + 1;
  for (uint32_t row = 0; row < columns_.row_capacities[object]; row++) {
    if (at == end_ || body[*at] != '{') return nullptr;
    at = decode_object(plan, object, row, at);
    if (at == nullptr || at == end_) return nullptr;
    findings_.row_counts[object] = row + 1;
    const uint8_t separator = body[*at++];
    if (separator == ']') return at;
    if (separator != ',') return nullptr;
  }
  return nullptr;
}

const uint32_t* decoder::decode_integers(const member_plan& member, uint32_t row, const uint32_t* at) {
  const uint8_t* const body = body_.data;
  if (end_ - at < 2 || body[*at] != '[') return nullptr;
  integers_.clear();
  bool more = body[*++at] != ']';
  if (!more) at++;
  while (more) {
    double value;
    if (end_ - at < 2) return nullptr;
    if (!read_integer(body + at[0], body + at[1], value)) return nullptr;
    if (value < member.limits.minimum || value > member.limits.maximum) return nullptr;
    integers_.push_back(static_cast<uint64_t>(value));
    const uint8_t separator = body[at[1]];
    if (separator != ',' && separator != ']') return nullptr;
    more = separator == ',';
    at += 2;
  }
  column<double>(member.columns.first)[row] = static_cast<double>(integers_.size());
  column<uint32_t>(member.columns.first + 1)[row] = fingerprint_of(integers_);
  return are_distinct(integers_) ? at : nullptr;
}

bool decoder::finish_row(const object_plan& plan, uint32_t row, uint64_t seen) noexcept {
  if ((plan.required_mask & ~seen) != 0) return false;
  if (seen == plan.all_mask) return true;
  for (uint32_t index = 0; index < plan.members.size(); index++) {
    if ((seen >> index & 1) != 0) continue;
    const member_plan& member = plan.members[index];
    write_absent(member, row);
    if (member.condition.member < 0) continue;
    const member_plan& other = plan.members[static_cast<uint32_t>(member.condition.member)];
    const bool other_seen = (seen >> member.condition.member & 1) != 0;
    if (other_seen && column<uint8_t>(other.columns.first)[row] == member.condition.code) return false;
  }
  return true;
}

void decoder::write_absent(const member_plan& member, uint32_t row) noexcept {
  switch (member.kind) {
    case value_kind::integer:
      column<double>(member.columns.first)[row] = not_a_number;
      break;
    case value_kind::distinct_integers:
      column<double>(member.columns.first)[row] = not_a_number;
      column<uint32_t>(member.columns.first + 1)[row] = 0;
      break;
    case value_kind::date_time:
      write_date_time(member, row, {not_a_number, 0}, 0, 0);
      break;
    case value_kind::enum_text:
      column<uint8_t>(member.columns.first)[row] = absent_code;
      break;
    case value_kind::measured_html:
      write_measures(member, row, text_measures{}, false);
      break;
    default:
      // No other kind may be absent and has columns.
      break;
  }
}

}  // namespace understudy
