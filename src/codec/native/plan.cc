// See plan.h. The plan comes from this program, so simdjson's DOM with exceptions is good enough; any exception means
// that the string is not a plan.
#include "plan.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "simdjson.h"
#include "text_measures.h"

namespace understudy {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

struct kind_rule {
  std::string_view name;
  value_kind kind;
  /// Bytes of an entry of each column, one digit per column.
  std::string_view entry_bytes;
  size_t column_count_min;
  /// Whether the columns have a value for an absent member.
  bool may_be_absent;
};

constexpr std::string_view measured_bytes = "4444444444444444441";
static_assert(measured_bytes.size() == text_measure_count + 1, "each measure, and presence");

constexpr std::array<kind_rule, 10> kind_rules = {{
    {"ignored_text", value_kind::ignored_text, "", 0, true},
    {"fixed_text", value_kind::fixed_text, "44", 2, false},
    {"key", value_kind::key, "4", 1, false},
    {"measured_text", value_kind::measured_text, measured_bytes, text_measure_count, true},
    {"date_time", value_kind::date_time, "8844", 1, true},
    {"integer", value_kind::integer, "8", 1, true},
    {"integer_list", value_kind::integer_list, "84", 2, true},
    {"enum_text", value_kind::enum_text, "1", 1, true},
    {"enum_number", value_kind::enum_number, "1", 1, false},
    {"rows", value_kind::rows, "", 0, false},
}};

void require(bool condition) {
  if (!condition) throw std::invalid_argument("not a plan");
}

/// A name or an enum value that needs no escape in JSON.
[[nodiscard]] std::string_view plain_text(element value) {
  const std::string_view text = value;
  require(!text.empty() && text.size() <= short_text::bytes_max);
  for (const char byte : text) require(byte > 0x20 && byte < 0x7f && byte != '"' && byte != '\\');
  return text;
}

[[nodiscard]] uint32_t index_below(element value, uint64_t bound) {
  const uint64_t index = value;
  require(index < bound);
  return static_cast<uint32_t>(index);
}

/// Reads a list of columns, and notes their layout in `layout`.
[[nodiscard]] std::vector<uint32_t> read_columns(element list, std::string_view entry_bytes, uint32_t object_index,
                                                 std::vector<column_layout>& layout) {
  std::vector<uint32_t> columns;
  for (const element column : list.get_array()) {
    require(columns.size() < entry_bytes.size());
    const uint32_t bytes = static_cast<uint32_t>(entry_bytes[columns.size()] - '0');
    columns.push_back(index_below(column, layout.size()));
    layout[columns.back()] = {object_index, bytes};
  }
  return columns;
}

[[nodiscard]] bool flag(const object& from, const char* name) {
  element value;
  return from[name].get(value) == simdjson::SUCCESS && bool(value);
}

/// Texts, or numbers that follow each other.
void read_values(member_plan& member, const object& from) {
  bool is_first = true;
  for (const element value : from["values"].get_array()) {
    if (member.kind == value_kind::enum_text) {
      member.values.emplace_back(plain_text(value));
      continue;
    }
    const double number = index_below(value, absent_code);
    if (is_first) member.minimum = number;
    require(is_first || number == member.maximum + 1);
    member.maximum = number;
    is_first = false;
  }
  require(is_first != member.values.empty() && member.values.size() < absent_code);
}

void read_range(member_plan& member, const object& from) {
  constexpr double exact = 9007199254740991;
  member.minimum = double(from["minimum"]);
  member.maximum = double(from["maximum"]);
  require(member.minimum >= -exact && member.maximum <= exact);
  // The fingerprint of a list is defined over positive numbers.
  require(member.kind == value_kind::integer || member.minimum >= 1);
}

[[nodiscard]] member_plan read_member(const object& from, uint32_t object_index, size_t object_count,
                                      std::vector<column_layout>& layout) {
  member_plan member(plain_text(from["name"]));
  const std::string_view kind = from["kind"];
  const auto rule = std::find_if(kind_rules.begin(), kind_rules.end(), [&](auto& each) { return each.name == kind; });
  require(rule != kind_rules.end());
  member.kind = rule->kind;
  member.required = flag(from, "required");
  member.nullable = flag(from, "nullable");
  member.html = flag(from, "html");
  member.unique = flag(from, "unique");
  require(!member.nullable || member.kind == value_kind::integer || member.kind == value_kind::date_time);
  require(member.required || rule->may_be_absent);
  member.columns = read_columns(from["columns"], rule->entry_bytes, object_index, layout);
  require(member.columns.size() >= rule->column_count_min);
  if (member.kind == value_kind::integer || member.kind == value_kind::integer_list) read_range(member, from);
  if (member.kind == value_kind::enum_text || member.kind == value_kind::enum_number) read_values(member, from);
  if (member.kind == value_kind::rows) {
    // Object 0 is the body, which cannot contain itself; rows inside rows have no columns.
    member.rows = index_below(from["rows"], object_count);
    require(object_index == 0 && member.rows > 0);
  }
  uint64_t chars_max;
  if (from["chars_max"].get(chars_max) == simdjson::SUCCESS) member.chars_max = chars_max;
  if (member.kind == value_kind::fixed_text) {
    member.pattern = std::string(std::string_view(from["pattern"]));
    require(member.pattern.size() <= short_text::bytes_max);
  }
  return member;
}

void read_condition(object_plan& plan, uint32_t index, const object& from) {
  object condition;
  if (from["required_when"].get(condition) != simdjson::SUCCESS) return;
  member_plan& member = plan.members[index];
  const uint32_t other = index_below(condition["member"], plan.members.size());
  require(plan.members[other].kind == value_kind::enum_text);
  member.condition_member = static_cast<int32_t>(other);
  member.condition_code =
      static_cast<uint8_t>(index_below(condition["code"], plan.members[other].values.size()));
}

[[nodiscard]] object_plan read_object(const object& from, uint32_t object_index, size_t object_count,
                                      std::vector<column_layout>& layout) {
  object_plan plan;
  plan.slice = read_columns(from["slice"], "44", object_index, layout);
  require(plan.slice.empty() || plan.slice.size() == 2);
  for (const element member : from["members"].get_array()) {
    plan.members.push_back(read_member(member.get_object(), object_index, object_count, layout));
  }
  require(!plan.members.empty() && plan.members.size() <= member_count_max);
  uint32_t index = 0;
  for (const element member : from["members"].get_array()) {
    read_condition(plan, index, member.get_object());
    const uint64_t bit = uint64_t{1} << index;
    plan.all_mask |= bit;
    if (plan.members[index].required) plan.required_mask |= bit;
    plan.members[index].successor = (index + 1) % static_cast<uint32_t>(plan.members.size());
    index++;
  }
  return plan;
}

}  // namespace

std::optional<decode_plan> read_plan(std::string_view json) {
  try {
    simdjson::dom::parser parser;
    const object root = parser.parse(json.data(), json.size()).get_object();
    decode_plan plan;
    plan.columns.resize(index_below(root["column_count"], 4096));
    const simdjson::dom::array objects = root["objects"].get_array();
    require(objects.size() > 0);
    uint32_t index = 0;
    for (const element each : objects)
      plan.objects.push_back(read_object(each.get_object(), index++, objects.size(), plan.columns));
    return plan;
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace understudy
