// See text_measures.h. Outside markup, 32 bytes are classified at a time. The kind of a code point follows from its lead
// byte and the next two bytes, which come from two more vectors at an offset of one and two bytes; a word starts where
// the byte before is white space.
#include "text_measures.h"

#include <cstring>

#include "fingerprint.h"

namespace understudy {

namespace {

constexpr size_t lane_count = 32;
typedef uint8_t byte_vector __attribute__((vector_size(lane_count)));
typedef int8_t mask_vector __attribute__((vector_size(lane_count)));

/// Measures that are counted in lanes: those from `chars` to `emoji`.
constexpr uint32_t lane_measure_count = static_cast<uint32_t>(text_measure::emoji) + 1;

/// Counts, one in each lane. `punctuation` counts all graphic characters of ASCII, letters and digits included.
struct vector_counts {
  byte_vector counts[lane_measure_count] = {};

  [[gnu::always_inline]] byte_vector& operator[](text_measure name) noexcept {
    return counts[static_cast<uint32_t>(name)];
  }
};

/// The largest count that a lane holds. Lanes are added up before that.
constexpr uint32_t lane_value_max = 255;

[[gnu::always_inline]] inline byte_vector load(const uint8_t* at) noexcept {
  byte_vector bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

/// Lanes with lowest ≤ byte ≤ highest, by one comparison of the difference, which wraps around below `lowest`.
[[gnu::always_inline]] inline mask_vector between(byte_vector bytes, uint8_t lowest,
                                                  uint8_t highest) noexcept {
  return (mask_vector)(bytes - lowest <=
                       (byte_vector)(byte_vector{} + static_cast<uint8_t>(highest - lowest)));
}

[[gnu::always_inline]] inline mask_vector equal(byte_vector bytes, uint8_t value) noexcept {
  return (mask_vector)(bytes == (byte_vector)(byte_vector{} + value));
}

/// Tab to carriage return, and space.
[[gnu::always_inline]] inline mask_vector is_ascii_space(byte_vector bytes) noexcept {
  return between(bytes, 0x09, 0x0d) | equal(bytes, 0x20);
}

[[gnu::always_inline]] inline mask_vector first_lanes(size_t count) noexcept {
  byte_vector index;
  for (size_t i = 0; i < lane_count; i++) index[i] = static_cast<uint8_t>(i);
  return (mask_vector)(index < (byte_vector)(byte_vector{} + static_cast<uint8_t>(count)));
}

[[gnu::always_inline]] inline bool any_of(mask_vector mask) noexcept {
  uint64_t words[lane_count / 8];
  std::memcpy(words, &mask, sizeof words);
  return (words[0] | words[1] | words[2] | words[3]) != 0;
}

/// Adds 1 in each lane of `hit`, whose value is -1. `all`: the whole vector belongs to the text.
template <bool all>
[[gnu::always_inline]] inline void count(byte_vector& sum, mask_vector hit, mask_vector taken) noexcept {
  sum -= (byte_vector)(all ? hit : hit & taken);
}

/// Counts the code points that are neither ASCII nor Hangul syllables: only a few vectors in a hundred have any. Returns the
/// lanes where white space beyond ASCII starts.
template <bool all>
[[gnu::always_inline]] inline mask_vector count_rare(const uint8_t* at, byte_vector b, byte_vector second,
                                                     mask_vector taken, vector_counts& sums) noexcept {
  const byte_vector third = load(at + 2);
  // U+4E00 is E4 B8 80, U+9FFF is E9 BF BF.
  count<all>(sums[text_measure::han], between(b, 0xe5, 0xe9) | (equal(b, 0xe4) & between(second, 0xb8, 0xbf)), taken);
  // U+1F000 is F0 9F 80 80.
  count<all>(sums[text_measure::emoji], between(b, 0xf1, 0xf4) | (equal(b, 0xf0) & between(second, 0x9f, 0xbf)), taken);

  const mask_vector e1 = equal(b, 0xe1);
  const mask_vector e2 = equal(b, 0xe2);
  const mask_vector e3 = equal(b, 0xe3);
  // U+3131 is E3 84 B1, U+318E is E3 86 8E; U+1100 is E1 84 80, U+11FF is E1 87 BF. ㅋ is E3 85 8B, ㅎ is E3
  // 85 8E.
  const mask_vector row_85 = e3 & equal(second, 0x85);
  const mask_vector ends =
      (equal(second, 0x84) & between(third, 0xb1, 0xbf)) | (equal(second, 0x86) & between(third, 0x80, 0x8e));
  count<all>(sums[text_measure::jamo], row_85 | (e3 & ends) | (e1 & between(second, 0x84, 0x87)), taken);
  count<all>(sums[text_measure::laughs], row_85 & (equal(third, 0x8b) | equal(third, 0x8e)), taken);

  // U+00A0; U+1680; U+2000 to U+200A, U+2028, U+2029, U+202F; U+205F; U+3000; U+FEFF.
  const mask_vector row_2000 = between(third, 0x80, 0x8a) | between(third, 0xa8, 0xa9) | equal(third, 0xaf);
  return taken & ((equal(b, 0xc2) & equal(second, 0xa0)) | (e1 & equal(second, 0x9a) & equal(third, 0x80)) |
                  (e2 & equal(second, 0x80) & row_2000) | (e2 & equal(second, 0x81) & equal(third, 0x9f)) |
                  (e3 & equal(second, 0x80) & equal(third, 0x80)) |
                  (equal(b, 0xef) & equal(second, 0xbb) & equal(third, 0xbf)));
}

/// Adds the code points that start in the lanes of `taken` at `at`. Returns the lanes where white space
/// beyond ASCII starts.
template <bool all>
[[gnu::always_inline]] inline mask_vector count_vector(const uint8_t* at, mask_vector taken,
                                                       vector_counts& sums) noexcept {
  const byte_vector b = load(at);
  const byte_vector second = load(at + 1);
  const mask_vector space = is_ascii_space(b);
  count<all>(sums[text_measure::chars], ~between(b, 0x80, 0xbf), taken);
  count<all>(sums[text_measure::spaces], space, taken);
  count<all>(sums[text_measure::words], ~space & is_ascii_space(load(at - 1)), taken);
  count<all>(sums[text_measure::digits], between(b, '0', '9'), taken);
  count<all>(sums[text_measure::latin], between(b | 0x20, 'a', 'z'), taken);
  count<all>(sums[text_measure::punctuation], between(b, 0x21, 0x7e), taken);
  count<all>(sums[text_measure::questions], equal(b, '?'), taken);
  count<all>(sums[text_measure::exclamations], equal(b, '!'), taken);
  // U+AC00 is EA B0 80, U+D7A3 is ED 9E A3.
  const mask_vector ed = equal(b, 0xed);
  count<all>(sums[text_measure::hangul],
             between(b, 0xeb, 0xec) | (equal(b, 0xea) & between(second, 0xb0, 0xbf)) |
                 (ed & between(second, 0x80, 0x9d)),
             taken);
  const mask_vector last_row = ed & equal(second, 0x9e);
  if (any_of(last_row)) count<all>(sums[text_measure::hangul], last_row & between(load(at + 2), 0x80, 0xa3), taken);

  const mask_vector rare = between(b, 0xc2, 0xe9) | between(b, 0xee, 0xf4);
  return any_of(rare) ? count_rare<all>(at, b, second, taken, sums) : mask_vector{};
}

[[gnu::always_inline]] inline uint32_t sum_of(byte_vector lanes) noexcept {
  uint32_t sum = 0;
  for (size_t i = 0; i < lane_count; i++) sum += lanes[i];
  return sum;
}

[[gnu::always_inline]] inline void flush(vector_counts& sums, text_measures& m, uint32_t& rounds) noexcept {
#pragma GCC unroll 16
  for (uint32_t i = 0; i < lane_measure_count; i++) {
    m.counts[i] += sum_of(sums.counts[i]);
    sums.counts[i] = byte_vector{};
  }
  rounds = 0;
}

[[nodiscard]] inline bool is_ascii_space(uint8_t byte) noexcept {
  return byte == ' ' || byte - 9u <= 4;
}

/// White space as defined by `String.prototype.trim`.
[[nodiscard]] bool is_space(uint32_t point) noexcept {
  if (point < 0x80) return is_ascii_space(static_cast<uint8_t>(point));
  return point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
         point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000 || point == 0xfeff;
}

/// Reads the code point at `at` and moves past it.
[[nodiscard]] uint32_t next_point(const uint8_t*& at) noexcept {
  const uint32_t lead = *at++;
  if (lead < 0x80) return lead;
  const uint32_t tail_count = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  uint32_t point = lead & (0x3fu >> tail_count);
  for (uint32_t i = 0; i < tail_count; i++) point = point << 6 | (*at++ & 0x3fu);
  return point;
}

/// Counts the markup that starts with the `<` at `open`. It must be closed.
void count_markup(const uint8_t* open, text_measures& m) noexcept {
  m[text_measure::tags]++;
  const uint8_t first = open[1] | 0x20;
  if (first == 'i' && (open[2] | 0x20) == 'm' && (open[3] | 0x20) == 'g') {
    m[text_measure::images]++;
  } else if (first == 'a') {
    const uint8_t* second = open + 2;
    if (*second == '>' || is_space(next_point(second))) m[text_measure::links]++;
  }
}

/// The next `byte` in [from, to), or `to`.
[[nodiscard]] inline const uint8_t* find(const uint8_t* from, const uint8_t* to, char byte) noexcept {
  const void* found = std::memchr(from, byte, static_cast<size_t>(to - from));
  return found == nullptr ? to : static_cast<const uint8_t*>(found);
}

/// Counts the white space beyond ASCII in [from, to), which the vectors take for parts of words.
void count_wide_spaces(const uint8_t* from, const uint8_t* to, text_measures& m) noexcept {
  bool in_word = false;
  bool in_ascii_word = false;
  while (from < to) {
    const uint32_t point = next_point(from);
    const bool ascii_space = point < 0x80 && is_space(point);
    const bool wide_space = point >= 0x80 && is_space(point);
    m[text_measure::spaces] += wide_space;
    m[text_measure::words] -= !ascii_space && !in_ascii_word;
    m[text_measure::words] += !ascii_space && !wide_space && !in_word;
    in_ascii_word = !ascii_space;
    in_word = !ascii_space && !wide_space;
  }
}

[[gnu::always_inline]] inline text_measures measure(const uint8_t* text, const uint8_t* end, bool html) noexcept {
  text_measures m;
  vector_counts sums;
  uint32_t rounds = 0;
  while (text < end) {
    const uint8_t* const open = html ? find(text, end, '<') : end;
    // A word starts after white space, and also where the text starts or markup ends.
    if (text < open && !is_ascii_space(*text) && !is_ascii_space(text[-1])) m[text_measure::words]++;
    mask_vector wide_space = {};
    const uint8_t* at = text;
    for (; at + lane_count <= open; at += lane_count) {
      wide_space |= count_vector<true>(at, ~mask_vector{}, sums);
      if (++rounds == lane_value_max) flush(sums, m, rounds);
    }
    if (at < open) {
      wide_space |= count_vector<false>(at, first_lanes(static_cast<size_t>(open - at)), sums);
      if (++rounds == lane_value_max) flush(sums, m, rounds);
    }
    if (any_of(wide_space)) count_wide_spaces(text, open, m);
    const uint8_t* const close = find(open, end, '>');
    // Markup without an end extends to the end of the text and is not counted.
    if (close == end) break;
    count_markup(open, m);
    text = close + 1;
  }
  flush(sums, m, rounds);
  m[text_measure::punctuation] -= m[text_measure::latin] + m[text_measure::digits];
  return m;
}

#if defined(__x86_64__) && !defined(__AVX2__)
// The addon is compiled for baseline x86-64. These functions exist a second time for AVX2, selected at run time.
__attribute__((target("avx2"))) text_measures measure_avx2(const uint8_t* text, const uint8_t* end,
                                                           bool html) noexcept {
  return measure(text, end, html);
}

const bool has_avx2 = __builtin_cpu_supports("avx2");
#else
constexpr bool has_avx2 = false;
text_measures measure_avx2(const uint8_t*, const uint8_t*, bool) noexcept { return {}; }
#endif

}  // namespace

text_measures measure_text(const uint8_t* text, size_t bytes, bool html) noexcept {
  text_measures m = has_avx2 ? measure_avx2(text, text + bytes, html) : measure(text, text + bytes, html);
  const fingerprint print = fingerprint_of(text, bytes);
  m[text_measure::fingerprintLow] = print.low;
  m[text_measure::fingerprintHigh] = print.high;
  return m;
}

}  // namespace understudy
