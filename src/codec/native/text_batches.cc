// See text_batches.h.
#include "text_batches.h"

#include <new>

#include "scalars.h"
#include "text_measures.h"

namespace understudy {

namespace {

/// Texts that wait at most: a body may have a hundred thousand.
constexpr size_t collected_count_max = 4096;

}  // namespace

void text_batches::begin(void* const* column_starts) noexcept {
  column_starts_ = column_starts;
  error_.store(decode_error::none, std::memory_order_relaxed);
}

void text_batches::add(const text_task& task) {
  if (collected_.size() == collected_count_max) end_list();
  collected_.push_back(task);
  collected_bytes_ += task.bytes;
}

void text_batches::end_list() noexcept {
  if (!share_collected()) measure_collected();
}

decode_error text_batches::finish() noexcept {
  measure_collected();
  if (!shared_.empty()) {
    measure_shared(unescaped_);
    helper_.end();
    shared_.clear();
  }
  return error_.load(std::memory_order_relaxed);
}

void text_batches::abandon() noexcept {
  collected_.clear();
  collected_bytes_ = 0;
  next_shared_.store(shared_.size(), std::memory_order_relaxed);
  static_cast<void>(finish());
}

bool text_batches::share_collected() noexcept {
  if (!shared_.empty() || collected_bytes_ < shared_bytes_min_) return false;
  shared_.swap(collected_);
  next_shared_.store(0, std::memory_order_relaxed);
  const bool helps = helper_.begin(
      [](void* self) noexcept {
        auto& batches = *static_cast<text_batches*>(self);
        batches.measure_shared(batches.helper_unescaped_);
      },
      this);
  if (!helps) {
    shared_.swap(collected_);
    return false;
  }
  collected_bytes_ = 0;
  return true;
}

void text_batches::measure_collected() noexcept {
  for (const text_task& task : collected_) measure(task, unescaped_);
  collected_.clear();
  collected_bytes_ = 0;
}

void text_batches::measure_shared(std::vector<uint8_t>& unescaped) noexcept {
  const size_t count = shared_.size();
  for (;;) {
    const size_t index = next_shared_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count) return;
    measure(shared_[index], unescaped);
  }
}

void text_batches::measure(const text_task& task, std::vector<uint8_t>& unescaped) noexcept {
  if (error_.load(std::memory_order_relaxed) != decode_error::none) return;
  decode_error error;
  try {
    error = try_to_measure(task, unescaped);
  } catch (const std::bad_alloc&) {
    // Whether the memory is enough is for the reference decoder to find out.
    error = decode_error::unusual_text;
  }
  if (error != decode_error::none) error_.store(error, std::memory_order_relaxed);
}

decode_error text_batches::try_to_measure(const text_task& task, std::vector<uint8_t>& unescaped) {
  const uint8_t* text = task.text;
  size_t bytes = task.bytes;
  if (has_escape(text, text + bytes)) {
    const decode_error error = unescape(text, text + bytes, unescaped);
    if (error != decode_error::none) return error;
    text = unescaped.data() + unescape_margin_bytes;
    bytes = unescaped.size() - 2 * unescape_margin_bytes;
  }
  const std::vector<uint32_t>& columns = task.member->columns;
  const text_measures measures = measure_text(text, bytes, task.member->html);
  for (uint32_t measure = 0; measure < text_measure_count; measure++) {
    static_cast<uint32_t*>(column_starts_[columns[measure]])[task.row] = measures.counts[measure];
  }
  if (columns.size() > text_measure_count)
    static_cast<uint8_t*>(column_starts_[columns[text_measure_count]])[task.row] = 1;
  return decode_error::none;
}

}  // namespace understudy
