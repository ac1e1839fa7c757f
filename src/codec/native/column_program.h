// Column programs: formulas over columns, compiled by JavaScript, and their evaluator. codec/column-program.ts describes
// programs and operations and has the reference evaluator. The results here are equal to the reference bit by bit, except
// logarithms and sines, which differ by at most one unit in the last place of a float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace understudy {

#define UNDERSTUDY_COLUMN_OPERATIONS(X)                                                                          \
  X(load) X(add) X(subtract) X(multiply) X(divide) X(atLeast) X(atMost) X(greater) X(equal) X(coalesce) X(where) \
      X(round) X(signedLog1p) X(sine)

/// Has the order and the spelling of `columnOperations` in codec/column-program.ts; the codec compares them.
enum class column_operation : uint32_t {
#define X(name) name,
  UNDERSTUDY_COLUMN_OPERATIONS(X)
#undef X
};

inline constexpr const char* column_operation_names[] = {
#define X(name) #name,
    UNDERSTUDY_COLUMN_OPERATIONS(X)
#undef X
};

inline constexpr uint32_t column_operation_count = sizeof(column_operation_names) / sizeof(char*);

/// Three words of `code`.
struct column_instruction {
  column_operation operation;
  uint32_t a, b;
};
static_assert(sizeof(column_instruction) == 12, "shared with codec/column-program.ts");

template <typename Value>
struct list_view {
  const Value* data;
  size_t length;
};

enum class column_type : uint8_t { float64, uint32, uint8 };

struct column_view {
  const void* data;
  size_t length;
  column_type type;
  /// Which of the indexes maps a row to its entry.
  uint32_t index;
};

/// `ColumnProgram` and `ColumnInputs` of codec/column-program.ts: views of the memory of JavaScript.
struct column_program {
  size_t row_count;
  list_view<column_instruction> code;
  list_view<double> constants;
  list_view<uint32_t> outputs;
  std::vector<column_view> columns;
  std::vector<list_view<uint32_t>> indexes;
};

/// Whether all that the instructions and the indexes name exists, and each value is computed before it is read.
[[nodiscard]] bool is_sound(const column_program& program);

/// Fills the row-major matrix [row_count, outputs]. The program must be valid.
void run_columns(const column_program& program, float* matrix);

}  // namespace understudy
