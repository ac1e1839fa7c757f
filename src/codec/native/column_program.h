// Column programs: formulas over columns, compiled by JavaScript into instructions over registers, and their evaluator.
// codec/column-program.ts defines programs and operations and has the reference evaluator. The results here are equal to
// the reference bit by bit: the same operations of IEEE 754 in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace understudy {

#define UNDERSTUDY_COLUMN_OPERATIONS(X)                                                                     \
  X(load) X(store) X(add) X(subtract) X(multiply) X(divide) X(atLeast) X(atMost) X(greater) X(equal) X(orElse) \
      X(where) X(round) X(log) X(sine)

/// In the order and the spelling of `columnOperations` in codec/column-program.ts; the codec compares them.
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

/// Four words of `code`.
struct column_instruction {
  column_operation operation;
  uint32_t to, a, b;
};
static_assert(sizeof(column_instruction) == 16, "shared with codec/column-program.ts");

/// As `ColumnProgram` in codec/column-program.ts.
struct column_program {
  std::vector<column_instruction> code;
  std::vector<double> constants;
  uint32_t parameter_count;
  uint32_t register_count;
  /// By column: which index leads from a row into it.
  std::vector<uint32_t> column_indexes;
  uint32_t index_count;
  /// By output: its register, and what is written where that holds NaN.
  std::vector<uint32_t> outputs;
  std::vector<double> missing;
};

enum class column_type : uint8_t { float64, uint32, uint8 };

/// A column as JavaScript gives it.
struct column_view {
  const void* values;
  size_t length;
  column_type type;
};

/// A column of row numbers.
struct index_view {
  const uint32_t* rows;
  size_t length;
};

/// What a program runs on. `columns` and `indexes` are as many as the program has.
struct column_inputs {
  size_t row_count;
  std::vector<column_view> columns;
  std::vector<index_view> indexes;
  /// `parameter_count` numbers.
  const double* parameters;
};

class column_evaluator {
 public:
  explicit column_evaluator(column_program program);

  [[nodiscard]] const column_program& program() const noexcept { return program_; }

  /// Whether every index of a row lies within its column: what `run` relies on.
  [[nodiscard]] bool fits(const column_inputs& inputs) const noexcept;

  /// Fills the row-major matrix [row_count, outputs].
  void run(const column_inputs& inputs, float* matrix) noexcept;

 private:
  column_program program_;
  /// The registers, one behind the other.
  std::vector<double> registers_;
};

/// Whether all that the instructions name exists, each reads what was written before it, and none writes a
/// register of a constant or a parameter.
[[nodiscard]] bool is_sound(const column_program& program);

}  // namespace understudy
