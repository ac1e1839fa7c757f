// See column_program.h. Rows are taken in blocks, so that all registers stay in a near cache: an instruction is
// one loop over a block, four rows at a time. Of smaller blocks fewer registers leave the nearest cache, but
// columns that come from memory are then read in stretches too short for the processor to read ahead.
#include "column_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace understudy {

namespace {

constexpr size_t block_rows = 512;
constexpr size_t lane_count = 4;
static_assert(block_rows % lane_count == 0);
typedef double lanes __attribute__((vector_size(lane_count * sizeof(double))));
typedef uint64_t lane_bits __attribute__((vector_size(lane_count * sizeof(uint64_t))));
typedef float half_lanes __attribute__((vector_size(lane_count * sizeof(float))));

constexpr double not_a_number = __builtin_nan("");
constexpr double infinity = __builtin_inf();

[[gnu::always_inline]] inline lanes load(const double* at) noexcept {
  lanes values;
  std::memcpy(&values, at, sizeof values);
  return values;
}

[[gnu::always_inline]] inline lanes all(double value) noexcept { return lanes{value, value, value, value}; }

// ---- operations; each is written in codec/column-program.ts too

/// Where 2^52 + 2^51 is added, no digits are left behind the point.
constexpr double round_shift = 6755399441055744.0;

[[gnu::always_inline]] inline lanes round_lanes(lanes x) noexcept { return (x + round_shift) - round_shift; }

/// log(1 + |x|) with the sign of x: (1 + |x|) = 2^k m with m within sqrt(1/2) to sqrt(2), and the series of
/// log((1 + s) / (1 - s)) for log(m).
[[gnu::always_inline]] inline lanes log_lanes(lanes x) noexcept {
  constexpr uint64_t one_bits = 0x3ff0000000000000;
  constexpr uint64_t root_half_bits = 0x3fe6a09e00000000;
  constexpr uint64_t mantissa_bits = 0x000fffffffffffff;
  constexpr uint64_t whole_bits = 0x4330000000000000;  // 2^52 and, in its last bits, a whole number
  const lanes size = x < 0.0 ? -x : x;
  const lane_bits shifted = (lane_bits)(1.0 + size) + (one_bits - root_half_bits);
  const lanes exponent = (lanes)((shifted >> 52) | whole_bits) - (4503599627370496.0 + 1023.0);
  const lanes mantissa = (lanes)((shifted & mantissa_bits) + root_half_bits);
  // 1 + x has lost the last digits of a small x.
  const lanes f = exponent == 0.0 ? size : mantissa - 1.0;
  const lanes s = f / (2.0 + f);
  const lanes z = s * s;
  lanes series = all(1.0 / 11);
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z + 1.0;
  const lanes finite = exponent * 0.6931471805599453 + (s + s) * series;
  const lanes result = size < infinity ? finite : size;
  return x < 0.0 ? -result : result;
}

/// sin(2 pi x): x is led back to a quarter turn, for which the series is good.
[[gnu::always_inline]] inline lanes sine_lanes(lanes x) noexcept {
  const lanes turn = x - round_lanes(x);
  const lanes size = turn < 0.0 ? -turn : turn;
  const lanes quarter = size > 0.25 ? 0.5 - size : size;
  const lanes angle = quarter * 6.283185307179586;
  const lanes z = angle * angle;
  lanes series = all(-1.0 / 1307674368000);
  series = series * z + 1.0 / 6227020800;
  series = series * z - 1.0 / 39916800;
  series = series * z + 1.0 / 362880;
  series = series * z - 1.0 / 5040;
  series = series * z + 1.0 / 120;
  series = series * z - 1.0 / 6;
  series = series * z + 1.0;
  const lanes result = angle * series;
  return turn < 0.0 ? -result : result;
}

// ---- blocks

/// An instruction's registers. Its loop may go on to the end of the last lanes: registers have room for it.
struct operands {
  double* to;
  const double* a;
  const double* b;
  size_t row_count;
};

template <typename Operation>
[[gnu::always_inline]] inline void for_lanes(const operands& registers, Operation operation) noexcept {
  const auto [to, a, b, row_count] = registers;
  for (size_t row = 0; row < row_count; row += lane_count) {
    const lanes result = operation(load(a + row), load(b + row));
    std::memcpy(to + row, &result, sizeof result);
  }
}

/// The rows [first, first + count) of an index; `start` is where they lie one behind the other, if they do.
struct index_rows {
  const uint32_t* rows;
  size_t start;
  bool consecutive;
};

[[gnu::always_inline]] inline index_rows rows_of(const index_view& index, size_t first,
                                                 size_t count) noexcept {
  const uint32_t* const rows = index.rows + first;
  uint32_t different = 0;
  for (size_t i = 0; i < count; i++) different |= rows[i] ^ (rows[0] + static_cast<uint32_t>(i));
  return {rows, rows[0], different == 0};
}

template <typename Value>
[[gnu::always_inline]] inline void load_values(double* to, const void* values, const index_rows& from,
                                               size_t count) noexcept {
  const Value* const column = static_cast<const Value*>(values);
  if (from.consecutive) {
    for (size_t i = 0; i < count; i++) to[i] = static_cast<double>(column[from.start + i]);
  } else {
    for (size_t i = 0; i < count; i++) to[i] = static_cast<double>(column[from.rows[i]]);
  }
}

[[gnu::always_inline]] inline void load_column(double* to, const column_view& column,
                                               const index_rows& from, size_t count) noexcept {
  switch (column.type) {
    case column_type::float64:
      return load_values<double>(to, column.values, from, count);
    case column_type::uint32:
      return load_values<uint32_t>(to, column.values, from, count);
    case column_type::uint8:
      return load_values<uint8_t>(to, column.values, from, count);
  }
}

[[gnu::always_inline]] inline half_lanes stored(const double* values, double missing) noexcept {
  const lanes x = load(values);
  return __builtin_convertvector(x == x ? x : all(missing), half_lanes);
}

/// Four rows of four outputs: registers hold columns, the matrix rows.
[[gnu::always_inline]] inline void store_square(half_lanes a, half_lanes b, half_lanes c, half_lanes d,
                                                float* at, size_t stride) noexcept {
  const half_lanes ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const half_lanes ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const half_lanes cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const half_lanes cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const half_lanes rows[lane_count] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                                       __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                                       __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                                       __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (size_t row = 0; row < lane_count; row++) std::memcpy(at + row * stride, &rows[row], sizeof rows[row]);
}

/// Writes the outputs [first, first + output_count) of `count` rows; `matrix` is where the block's rows start.
[[gnu::always_inline]] inline void store_outputs(const column_program& program, const double* registers,
                                                 size_t first, size_t output_count, size_t count,
                                                 float* matrix) noexcept {
  const size_t stride = program.outputs.size();
  const auto values = [&](size_t output) { return registers + program.outputs[output] * block_rows; };
  const double* const missing = program.missing.data();
  const size_t squares_end = count - count % lane_count;
  size_t output = first;
  for (; output + lane_count <= first + output_count; output += lane_count) {
    const double *a = values(output), *b = values(output + 1), *c = values(output + 2), *d = values(output + 3);
    for (size_t row = 0; row < squares_end; row += lane_count) {
      store_square(stored(a + row, missing[output]), stored(b + row, missing[output + 1]),
                   stored(c + row, missing[output + 2]), stored(d + row, missing[output + 3]),
                   matrix + row * stride + output, stride);
    }
  }
  const auto store_alone = [&](size_t one, size_t row) {
    const double value = values(one)[row];
    matrix[row * stride + one] = static_cast<float>(value == value ? value : missing[one]);
  };
  for (size_t one = first; one < output; one++)
    for (size_t row = squares_end; row < count; row++) store_alone(one, row);
  for (size_t one = output; one < first + output_count; one++)
    for (size_t row = 0; row < count; row++) store_alone(one, row);
}

/// Runs the program for rows [first, first + count), at most one block.
[[gnu::always_inline]] inline void run_block(const column_program& program, const column_inputs& inputs,
                                             size_t first, size_t count, double* registers,
                                             float* matrix) noexcept {
  for (const column_instruction& step : program.code) {
    if (step.operation == column_operation::store) {
      store_outputs(program, registers, step.a, step.b, count, matrix + first * program.outputs.size());
      continue;
    }
    double* const to = registers + step.to * block_rows;
    if (step.operation == column_operation::load) {
      const index_view& index = inputs.indexes[program.column_indexes[step.a]];
      load_column(to, inputs.columns[step.a], rows_of(index, first, count), count);
      continue;
    }
    const operands rows = {to, registers + step.a * block_rows, registers + step.b * block_rows, count};
    switch (step.operation) {
      case column_operation::load:
      case column_operation::store:
        break;
      case column_operation::add:
        for_lanes(rows, [](lanes x, lanes y) { return x + y; });
        break;
      case column_operation::subtract:
        for_lanes(rows, [](lanes x, lanes y) { return x - y; });
        break;
      case column_operation::multiply:
        for_lanes(rows, [](lanes x, lanes y) { return x * y; });
        break;
      case column_operation::divide:
        for_lanes(rows, [](lanes x, lanes y) { return x / y; });
        break;
      case column_operation::atLeast:
        for_lanes(rows, [](lanes x, lanes y) { return y > x ? y : x; });
        break;
      case column_operation::atMost:
        for_lanes(rows, [](lanes x, lanes y) { return y < x ? y : x; });
        break;
      case column_operation::greater:
        for_lanes(rows, [](lanes x, lanes y) { return x > y ? all(1.0) : all(0.0); });
        break;
      case column_operation::equal:
        for_lanes(rows, [](lanes x, lanes y) { return x == y ? all(1.0) : all(0.0); });
        break;
      case column_operation::orElse:
        for_lanes(rows, [](lanes x, lanes y) { return x == x ? x : y; });
        break;
      case column_operation::where:
        for_lanes(rows, [](lanes x, lanes y) { return y > 0.0 ? x : all(not_a_number); });
        break;
      case column_operation::round:
        for_lanes(rows, [](lanes x, lanes) { return round_lanes(x); });
        break;
      case column_operation::log:
        for_lanes(rows, [](lanes x, lanes) { return log_lanes(x); });
        break;
      case column_operation::sine:
        for_lanes(rows, [](lanes x, lanes) { return sine_lanes(x); });
        break;
    }
  }
}

[[gnu::always_inline]] inline void run_blocks(const column_program& program, const column_inputs& inputs,
                                              double* registers, float* matrix) noexcept {
  for (size_t first = 0; first < inputs.row_count; first += block_rows) {
    run_block(program, inputs, first, std::min(block_rows, inputs.row_count - first), registers, matrix);
  }
}

#if defined(__x86_64__) && !defined(__AVX2__)
// The package is compiled for every x86-64; the same code again for machines with AVX2, chosen at run time.
__attribute__((target("avx2"))) void run_avx2(const column_program& program, const column_inputs& inputs,
                                              double* registers, float* matrix) noexcept {
  run_blocks(program, inputs, registers, matrix);
}

const bool has_avx2 = __builtin_cpu_supports("avx2");

void run_program(const column_program& program, const column_inputs& inputs, double* registers,
                 float* matrix) noexcept {
  if (has_avx2) {
    run_avx2(program, inputs, registers, matrix);
  } else {
    run_blocks(program, inputs, registers, matrix);
  }
}
#else
void run_program(const column_program& program, const column_inputs& inputs, double* registers,
                 float* matrix) noexcept {
  run_blocks(program, inputs, registers, matrix);
}
#endif

}  // namespace

column_evaluator::column_evaluator(column_program program) : program_(std::move(program)) {
  constexpr size_t line_bytes = 64;
  size_t bytes = program_.register_count * block_rows * sizeof(double);
  size_t room = bytes + line_bytes;
  memory_ = std::make_unique<double[]>(room / sizeof(double));
  void* aligned = memory_.get();
  registers_ = static_cast<double*>(std::align(line_bytes, bytes, aligned, room));
  for (size_t i = 0; i < program_.constants.size(); i++)
    std::fill_n(registers_ + i * block_rows, block_rows, program_.constants[i]);
}

bool column_evaluator::fits(const column_inputs& inputs) const noexcept {
  std::vector<size_t> ends(program_.index_count);
  for (size_t i = 0; i < ends.size(); i++) {
    const index_view& index = inputs.indexes[i];
    if (index.length < inputs.row_count) return false;
    uint32_t last = 0;
    for (size_t row = 0; row < inputs.row_count; row++) last = std::max(last, index.rows[row]);
    ends[i] = inputs.row_count == 0 ? 0 : size_t{last} + 1;
  }
  for (size_t column = 0; column < inputs.columns.size(); column++)
    if (inputs.columns[column].length < ends[program_.column_indexes[column]]) return false;
  return true;
}

void column_evaluator::run(const column_inputs& inputs, float* matrix) noexcept {
  for (size_t i = 0; i < program_.parameter_count; i++)
    std::fill_n(registers_ + (program_.constants.size() + i) * block_rows, block_rows, inputs.parameters[i]);
  run_program(program_, inputs, registers_, matrix);
}

bool is_sound(const column_program& program) {
  const size_t given = program.constants.size() + program.parameter_count;
  const size_t output_count = program.outputs.size();
  if (given > program.register_count || program.missing.size() != output_count) return false;
  for (const uint32_t index : program.column_indexes)
    if (index >= program.index_count) return false;
  std::vector<bool> written(program.register_count);
  std::fill_n(written.begin(), given, true);
  const auto is_written = [&](uint32_t at) { return at < written.size() && written[at]; };
  for (const auto& [operation, to, a, b] : program.code) {
    if (static_cast<uint32_t>(operation) >= column_operation_count) return false;
    if (operation == column_operation::store) {
      if (a > output_count || b > output_count - a) return false;
      const auto first = program.outputs.begin() + a;
      if (!std::all_of(first, first + b, is_written)) return false;
      continue;
    }
    if (to < given || to >= program.register_count) return false;
    const bool reads = operation == column_operation::load ? a < program.column_indexes.size()
                                                           : is_written(a) && is_written(b);
    if (!reads) return false;
    written[to] = true;
  }
  return true;
}

}  // namespace understudy
