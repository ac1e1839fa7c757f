// See decoder.h. A member takes four tokens: name, colon, value and separator. One check per member ensures that four
// tokens are left; values of several tokens have their own checks.
#include "decoder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "date_time.h"
#include "scalars.h"

namespace understudy {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

constexpr uint32_t no_member = ~uint32_t{0};

/// Index of the member whose quoted name starts at `name`, tried in the plan's order, or `no_member`.
[[nodiscard]] uint32_t find_member(const object_plan& plan, const uint8_t* name) noexcept {
  for (uint32_t index = 0; index < plan.members.size(); index++) {
    if (plan.members[index].name.is_at(name)) return index;
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

/// Whether all integers are distinct. Sorts longer lists.
[[nodiscard]] bool are_distinct(std::vector<uint64_t>& integers) {
  constexpr size_t pairs_count_max = 16;
  if (integers.size() > pairs_count_max) {
    std::sort(integers.begin(), integers.end());
    return std::adjacent_find(integers.begin(), integers.end()) == integers.end();
  }
  for (auto at = integers.begin(); at != integers.end(); ++at) {
    if (std::find(integers.begin(), at, *at) != at) return false;
  }
  return true;
}

}  // namespace

decoder::decoder(decode_plan plan) : plan_(std::move(plan)) {
  findings_.row_counts.resize(plan_.objects.size());
  findings_.unknown_names.resize(plan_.objects.size());
}

decode_error decoder::decode(padded_bytes body, column_set columns) {
  body_ = body;
  columns_ = columns;
  error_ = decode_error::none;
  keys_.clear();
  findings_.member_order.clear();
  std::fill(findings_.row_counts.begin(), findings_.row_counts.end(), 0);
  skipped_containers_left_ = skipped_container_count_max;
  for (auto& names : findings_.unknown_names) names.clear();

  const decode_error indexed = index_.find(body);
  if (indexed != decode_error::none) return indexed;
  const uint32_t* at = index_.begin();
  end_ = index_.end();
  // The last token is a closing brace, so that no scan of a scalar can leave the body.
  if (end_ - at < 2 || body.data[*at] != '{' || body.data[end_[-1]] != '}') return decode_error::grammar;
  findings_.row_counts[0] = 1;
  at = decode_object(plan_.objects[0], 0, 0, at);
  if (at == nullptr) return error_;
  if (at != end_) return decode_error::grammar;
  findings_.keys = keys_.texts();
  return decode_error::none;
}

const uint32_t* decoder::fail(decode_error error) noexcept {
  error_ = error;
  return nullptr;
}

const uint32_t* decoder::decode_object(object_plan& plan, uint32_t object, uint32_t row, const uint32_t* at) {
  const uint8_t* const body = body_.data;
  const uint32_t* const end = end_;
  if (end - at < 2) return fail(decode_error::grammar);
  if (!plan.slice.empty()) column<uint32_t>(plan.slice[0])[row] = *at;
  uint64_t seen = 0;
  // The guess of the next member; a wrong guess is corrected for the next row.
  uint32_t* guess = &plan.first_member;
  member_plan* const members = plan.members.data();
  bool more = body[*++at] != '}';
  if (!more) at++;
  while (more) {
    if (end - at < 4) return fail(decode_error::grammar);
    const uint8_t* name = body + at[0];
    uint32_t index = *guess;
    if (!members[index].name.is_at(name)) index = find_member(plan, name);
    if (index == no_member) {
      at = decode_unknown(object, at);
    } else {
      member_plan& member = members[index];
      const uint64_t bit = uint64_t{1} << index;
      if ((seen & bit) != 0) return fail(decode_error::duplicate_member);
      seen |= bit;
      if (*guess != index) *guess = index;
      guess = &member.successor;
      if (object == 0) findings_.member_order.push_back(index);
      at = decode_member(member, row, at);
    }
    if (at == nullptr) return nullptr;
    if (at == end) return fail(decode_error::grammar);
    const uint8_t separator = body[*at++];
    if (separator != ',' && separator != '}') return fail(decode_error::grammar);
    more = separator == ',';
  }
  if (!plan.slice.empty()) column<uint32_t>(plan.slice[1])[row] = at[-1] + 1;
  return finish_row(plan, row, seen) ? at : fail(decode_error::missing_member);
}

inline const uint32_t* decoder::decode_member(member_plan& member, uint32_t row, const uint32_t* at) {
  if (body_.data[at[1]] != ':') return fail(decode_error::grammar);
  if (member.kind == value_kind::rows) return decode_rows(member.rows, at + 2);
  if (member.kind == value_kind::integer_list) return decode_integers(member, row, at + 2);
  const decode_error error = decode_scalar(member, row, body_.data + at[2], body_.data + at[3]);
  return error == decode_error::none ? at + 3 : fail(error);
}

inline decode_error decoder::decode_integer(const member_plan& member, uint32_t row, const uint8_t* token,
                                            const uint8_t* next) {
  double& value = column<double>(member.columns[0])[row];
  const int64_t digits = read_short_integer(token, next);
  value = static_cast<double>(digits);
  // One branch for three conditions that mostly hold.
  if ((digits >= 0) & (value >= member.minimum) & (value <= member.maximum)) return decode_error::none;
  if (member.nullable && is_null(token)) {
    value = not_a_number;
    return decode_error::none;
  }
  if (!read_integer(token, value)) return decode_error::unusual_number;
  return value >= member.minimum && value <= member.maximum ? decode_error::none : decode_error::value;
}

inline decode_error decoder::decode_scalar(member_plan& member, uint32_t row, const uint8_t* token,
                                           const uint8_t* next) {
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
      return decode_enum_number(member, row, token);
    case value_kind::measured_text:
      return decode_measured(member, row, token, next);
    case value_kind::fixed_text:
      return decode_fixed_text(member, row, token);
    default:
      return decode_ignored(token, next);
  }
}

decode_error decoder::decode_ignored(const uint8_t* token, const uint8_t* next) {
  if (*token != '"') return decode_error::value;
  const uint8_t* close = closing_quote(token, next);
  return close != nullptr && escapes_are_valid(token + 1, close) ? decode_error::none
                                                                 : decode_error::unusual_text;
}

decode_error decoder::decode_fixed_text(const member_plan& member, uint32_t row, const uint8_t* token) {
  if (*token != '"') return decode_error::value;
  const uint8_t* at = token + 1;
  for (const char form : member.pattern) {
    // A digit written as an escape is left to the reference decoder, like every other unusual spelling.
    if (form == '0' ? *at - uint32_t{'0'} > 9 : *at != static_cast<uint8_t>(form)) return decode_error::value;
    at++;
  }
  if (*at != '"') return decode_error::value;
  column<uint32_t>(member.columns[0])[row] = static_cast<uint32_t>(token + 1 - body_.data);
  column<uint32_t>(member.columns[1])[row] = static_cast<uint32_t>(at - body_.data);
  return decode_error::none;
}

decode_error decoder::decode_key(const member_plan& member, uint32_t row, const uint8_t* token,
                                 const uint8_t* next) {
  uint32_t& code = column<uint32_t>(member.columns[0])[row];
  code = keys_.recent_code(token, next);
  if (code != key_table::unknown_code) return decode_error::none;
  if (*token != '"') return decode_error::value;
  const uint8_t* close = closing_quote(token, next);
  if (close == nullptr || has_escape(token, close)) return decode_error::unusual_text;
  const size_t bytes = static_cast<size_t>(close - token) - 1;
  if (bytes == 0) return decode_error::value;
  code = keys_.code_of({reinterpret_cast<const char*>(token + 1), bytes});
  keys_.cache(token, close + 1, code);
  return decode_error::none;
}

decode_error decoder::decode_measured(const member_plan& member, uint32_t row, const uint8_t* token,
                                      const uint8_t* next) {
  if (*token != '"') return decode_error::value;
  const uint8_t* text = token + 1;
  const uint8_t* close = closing_quote(token, next);
  if (close == nullptr) return decode_error::unusual_text;
  size_t bytes = static_cast<size_t>(close - text);
  if (has_escape(text, close)) {
    const decode_error error = unescape(text, close, unescaped_);
    if (error != decode_error::none) return error;
    text = unescaped_.data() + unescape_margin_bytes;
    bytes = unescaped_.size() - 2 * unescape_margin_bytes;
  }
  write_measures(member, row, measure_text(text, bytes, member.html), true);
  return decode_error::none;
}

void decoder::write_measures(const member_plan& member, uint32_t row, const text_measures& measures,
                             bool present) noexcept {
  for (uint32_t measure = 0; measure < text_measure_count; measure++)
    column<uint32_t>(member.columns[measure])[row] = measures.counts[measure];
  if (member.columns.size() > text_measure_count) column<uint8_t>(member.columns[text_measure_count])[row] = present;
}

decode_error decoder::decode_date_time(member_plan& member, uint32_t row, const uint8_t* token,
                                       const uint8_t* next) {
  const uint32_t start = static_cast<uint32_t>(token + 1 - body_.data);
  const recent_date_time& recent = member.recent;
  if (recent.bytes > 0 && recent.quoted.is_at(token)) {
    write_date_time(member, row, recent.at, start, start + recent.bytes);
    return decode_error::none;
  }
  if (member.nullable && is_null(token)) {
    write_date_time(member, row, {not_a_number, 0}, 0, 0);
    return decode_error::none;
  }
  if (*token != '"') return decode_error::value;
  const uint8_t* close = closing_quote(token, next);
  if (close == nullptr) return decode_error::unusual_text;
  const uint32_t bytes = static_cast<uint32_t>(close - token) - 1;
  instant at;
  if (!read_date_time(token + 1, bytes, at)) return decode_error::value;
  write_date_time(member, row, at, start, start + bytes);
  if (bytes <= short_text::bytes_max)
    member.recent = {short_text({reinterpret_cast<const char*>(token + 1), bytes}), bytes, at};
  return decode_error::none;
}

inline void decoder::write_date_time(const member_plan& member, uint32_t row, instant at, uint32_t start,
                                     uint32_t end) noexcept {
  column<double>(member.columns[0])[row] = at.ms;
  if (member.columns.size() < 2) return;
  column<double>(member.columns[1])[row] = at.fraction;
  if (member.columns.size() < 4) return;
  column<uint32_t>(member.columns[2])[row] = start;
  column<uint32_t>(member.columns[3])[row] = end;
}

decode_error decoder::decode_enum_text(member_plan& member, uint32_t row, const uint8_t* token) {
  if (!member.values[member.last_code].is_at(token)) {
    uint32_t code = 0;
    while (code < member.values.size() && !member.values[code].is_at(token)) code++;
    if (code == member.values.size()) return decode_error::value;
    member.last_code = code;
  }
  column<uint8_t>(member.columns[0])[row] = static_cast<uint8_t>(member.last_code);
  return decode_error::none;
}

decode_error decoder::decode_enum_number(const member_plan& member, uint32_t row, const uint8_t* token) {
  double value;
  if (!read_integer(token, value)) return decode_error::unusual_number;
  if (!(value >= member.minimum && value <= member.maximum)) return decode_error::value;
  column<uint8_t>(member.columns[0])[row] = static_cast<uint8_t>(value);
  return decode_error::none;
}

const uint32_t* decoder::decode_rows(uint32_t object, const uint32_t* at) {
  object_plan& plan = plan_.objects[object];
  const uint8_t* const body = body_.data;
  if (end_ - at < 2) return fail(decode_error::grammar);
  if (body[*at] != '[') return fail(decode_error::value);
  if (body[*++at] == ']') return at + 1;
  const uint32_t capacity = std::min(plan.row_count_max, columns_.row_capacities[object]);
  for (uint32_t row = 0;; row++) {
    if (at == end_) return fail(decode_error::grammar);
    if (row == capacity)
      return row == plan.row_count_max ? fail(decode_error::too_many_rows) : request_rows(object, row, at);
    if (body[*at] != '{') return fail(decode_error::value);
    at = decode_object(plan, object, row, at);
    if (at == nullptr) return nullptr;
    findings_.row_counts[object] = row + 1;
    if (at == end_) return fail(decode_error::grammar);
    const uint8_t separator = body[*at++];
    if (separator == ']') return at;
    if (separator != ',') return fail(decode_error::grammar);
  }
}

const uint32_t* decoder::request_rows(uint32_t object, uint32_t row_count, const uint32_t* at) noexcept {
  // Counts the values of the list. An upper bound is enough: the next attempt checks the rows.
  uint32_t depth = 0;
  for (; at < end_; at++) {
    const uint8_t byte = body_.data[*at];
    if (byte == '{' || byte == '[') {
      if (depth++ == 0) row_count++;
    } else if (byte == '}' || byte == ']') {
      if (depth-- == 0) break;
    }
  }
  findings_.row_counts[object] = row_count;
  return fail(decode_error::row_capacity);
}

const uint32_t* decoder::decode_integers(const member_plan& member, uint32_t row, const uint32_t* at) {
  const uint8_t* const body = body_.data;
  if (end_ - at < 2) return fail(decode_error::grammar);
  if (body[*at] != '[') return fail(decode_error::value);
  integers_.clear();
  bool more = body[*++at] != ']';
  if (!more) at++;
  while (more) {
    double value;
    if (end_ - at < 2) return fail(decode_error::grammar);
    if (!read_integer(body + *at, value)) return fail(decode_error::unusual_number);
    if (!(value >= member.minimum && value <= member.maximum)) return fail(decode_error::value);
    integers_.push_back(static_cast<uint64_t>(value));
    const uint8_t separator = body[at[1]];
    if (separator != ',' && separator != ']') return fail(decode_error::grammar);
    more = separator == ',';
    at += 2;
  }
  column<double>(member.columns[0])[row] = static_cast<double>(integers_.size());
  column<uint32_t>(member.columns[1])[row] = fingerprint_of(integers_);
  return !member.unique || are_distinct(integers_) ? at : fail(decode_error::value);
}

const uint32_t* decoder::decode_unknown(uint32_t object, const uint32_t* at) {
  const uint8_t* name = body_.data + at[0];
  if (*name != '"' || body_.data[at[1]] != ':') return fail(decode_error::grammar);
  const uint8_t* close = closing_quote(name, body_.data + at[1]);
  if (close == nullptr || has_escape(name, close)) return fail(decode_error::unusual_name);
  const std::string_view text(reinterpret_cast<const char*>(name + 1), static_cast<size_t>(close - name) - 1);
  // JavaScript puts members that look like array indices first: their order is for the reference decoder.
  const bool index_like = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (index_like || text.size() > unknown_name_bytes_max) return fail(decode_error::unusual_name);
  auto& names = findings_.unknown_names[object];
  if (names.size() < unknown_name_count_max && std::find(names.begin(), names.end(), text) == names.end()) {
    names.push_back(text);
  }
  at += 2;
  const decode_error error = skip_value(body_.data, at, end_, skipped_containers_left_);
  return error == decode_error::none ? at : fail(error);
}

bool decoder::finish_row(const object_plan& plan, uint32_t row, uint64_t seen) noexcept {
  if ((plan.required_mask & ~seen) != 0) return false;
  if (seen == plan.all_mask) return true;
  for (uint32_t index = 0; index < plan.members.size(); index++) {
    if ((seen >> index & 1) != 0) continue;
    const member_plan& member = plan.members[index];
    write_absent(member, row);
    if (member.condition_member < 0) continue;
    const member_plan& other = plan.members[static_cast<uint32_t>(member.condition_member)];
    const bool other_seen = (seen >> member.condition_member & 1) != 0;
    if (other_seen && column<uint8_t>(other.columns[0])[row] == member.condition_code) return false;
  }
  return true;
}

void decoder::write_absent(const member_plan& member, uint32_t row) noexcept {
  switch (member.kind) {
    case value_kind::integer:
      column<double>(member.columns[0])[row] = not_a_number;
      break;
    case value_kind::integer_list:
      column<double>(member.columns[0])[row] = not_a_number;
      column<uint32_t>(member.columns[1])[row] = 0;
      break;
    case value_kind::date_time:
      write_date_time(member, row, {not_a_number, 0}, 0, 0);
      break;
    case value_kind::enum_text:
      column<uint8_t>(member.columns[0])[row] = absent_code;
      break;
    case value_kind::measured_text:
      write_measures(member, row, text_measures{}, false);
      break;
    default:
      // The plan's reader takes no other kind that may be absent and has columns.
      break;
  }
}

}  // namespace understudy
