// The texts of a body, measured once their list is read and not where they stand: nothing else in a body
// depends on their measures, so a second thread can begin with them while the lists behind them are read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "error.h"
#include "helper_thread.h"
#include "plan.h"

namespace understudy {

/// A text of a row, as it stands in the body between its quotes.
struct text_task {
  const uint8_t* text;
  size_t bytes;
  const member_plan* member;
  uint32_t row;
};

/// The helper needs some 50 µs to wake up, in which about as many bytes of text can be measured without it.
inline constexpr size_t shared_text_bytes_min = 128 * 1024;

/// Collects texts and writes their measures into the columns of their members.
class text_batches {
 public:
  /// `shared_bytes_min`: bytes of text in a list from which on the helper is asked.
  explicit text_batches(size_t shared_bytes_min) noexcept : shared_bytes_min_(shared_bytes_min) {}

  /// Begins a body whose columns start at `column_starts`. Every body ends with `finish` or `abandon`.
  void begin(void* const* column_starts) noexcept;

  /// Takes a text, which must stay readable until the body ends. May throw std::bad_alloc.
  void add(const text_task& task);

  /// All texts of a list are there: the helper begins with them if that is worth its while.
  void end_list() noexcept;

  /// Measures what is left. All measures are in their columns then, unless it tells of a text that is
  /// unusual.
  [[nodiscard]] decode_error finish() noexcept;

  /// Ends a body that is refused: its texts are of no use any more.
  void abandon() noexcept;

 private:
  [[nodiscard]] bool share_collected() noexcept;
  void measure_collected() noexcept;

  // Both threads come here. `unescaped` belongs to the one that calls.
  void measure_shared(std::vector<uint8_t>& unescaped) noexcept;
  void measure(const text_task& task, std::vector<uint8_t>& unescaped) noexcept;
  [[nodiscard]] decode_error try_to_measure(const text_task& task, std::vector<uint8_t>& unescaped);

  const size_t shared_bytes_min_;
  void* const* column_starts_ = nullptr;
  std::vector<text_task> collected_;
  size_t collected_bytes_ = 0;
  std::vector<uint8_t> unescaped_;
  /// What the helper works at; empty when it has nothing to do.
  std::vector<text_task> shared_;
  /// The next of `shared_`, for whichever thread comes first.
  std::atomic<size_t> next_shared_{0};
  std::vector<uint8_t> helper_unescaped_;
  std::atomic<decode_error> error_{decode_error::none};
  /// Last, so that its thread is joined before anything else here is destroyed.
  helper_thread helper_;
};

}  // namespace understudy
