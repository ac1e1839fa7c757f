// Measures of a title or a body, as codec/text-measures.ts defines them: how many code points of which kind,
// words, markup, and a fingerprint.
#pragma once

#include <cstddef>
#include <cstdint>

namespace understudy {

#define UNDERSTUDY_TEXT_MEASURES(X)                                                                    \
  X(chars)                                                                                             \
  X(hangul) X(jamo) X(laughs) X(latin) X(digits) X(han) X(spaces) X(words) X(punctuation) X(questions) \
      X(exclamations) X(emoji) X(tags) X(images) X(links) X(fingerprintLow) X(fingerprintHigh)

/// Has the order and the spelling of `textMeasureNames` in contract/columns.ts; a test compares the two.
enum class text_measure : uint32_t {
#define X(name) name,
  UNDERSTUDY_TEXT_MEASURES(X)
#undef X
};

inline constexpr const char* text_measure_names[] = {
#define X(name) #name,
    UNDERSTUDY_TEXT_MEASURES(X)
#undef X
};

inline constexpr uint32_t text_measure_count = sizeof(text_measure_names) / sizeof(char*);

/// A count for each measure.
struct text_measures {
  uint32_t counts[text_measure_count] = {};

  [[nodiscard]] uint32_t& operator[](text_measure name) noexcept {
    return counts[static_cast<uint32_t>(name)];
  }
};

/// Readable bytes that a text needs after its end.
inline constexpr size_t text_padding_bytes = 16;

/// Measures valid UTF-8. `html`: text between `<` and `>` is markup.
[[nodiscard]] text_measures measure_text(const uint8_t* text, size_t bytes, bool html) noexcept;

}  // namespace understudy
