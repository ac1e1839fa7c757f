// See float_text.h. Scores are written by integer arithmetic, other numbers by std::to_chars.
#include "float_text.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace understudy {

namespace {

// Numbers from 2^-13 up to 1: mantissa × 2^-shift, the mantissa has 24 bits, and 64 bits hold every product below.
constexpr int score_shift_min = 24;
constexpr int score_shift_max = 36;

/// 10 to the number of decimal places whose spacing is not wider than 2^-shift, by shift.
struct score_scales {
  uint64_t scales[score_shift_max + 1] = {};
  constexpr score_scales() {
    uint64_t scale = 1;
    for (int shift = 0; shift <= score_shift_max; shift++) {
      while (scale < uint64_t{1} << shift) scale *= 10;
      scales[shift] = scale;
    }
  }
};
constexpr score_scales scale_of;

/// The text of a score that is not a power of two, whose neighbours are therefore equally far away. At most one decimal
/// of the next coarser spacing reads back as the number; otherwise the nearest one of this spacing does.
[[nodiscard]] char* write_score(char* out, uint64_t mantissa, int shift) noexcept {
  const uint64_t scale = scale_of.scales[shift];
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t coarse_product = mantissa * (scale / 10);
  const uint64_t coarse = (coarse_product + half) >> shift;
  const int64_t error = static_cast<int64_t>(coarse_product - (coarse << shift));
  // Halfway between two float32, the string reads back as the one with the even mantissa.
  const bool is_coarse = static_cast<uint64_t>(std::abs(error)) * 2 < scale / 10 + (~mantissa & 1);
  // A mask: compilers make a branch of `?:`, and half of the predictions would be wrong.
  const uint64_t mask = -uint64_t{is_coarse};
  const uint64_t digits = (coarse * 10 & mask) | (((coarse_product * 10 + half) >> shift) & ~mask);
  // The 1 before the places keeps their zeros; `0.` replaces it.
  char* end = std::to_chars(out + 1, out + float_text_bytes_max, scale + digits).ptr;
  std::memcpy(out, "0.", 2);
  end -= is_coarse;
  while (end[-1] == '0') end--;
  return end;
}

}  // namespace

char* write_integer(char* out, uint64_t value) noexcept {
  constexpr int bytes_max = 20;
  return std::to_chars(out, out + bytes_max, value).ptr;
}

char* write_float(char* out, float value) noexcept {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t fraction = bits & 0x7fffff;
  // A negative number has a shift below the least.
  const int shift = 150 - static_cast<int>(bits >> 23);
  if (shift >= score_shift_min && shift <= score_shift_max && fraction != 0)
    return write_score(out, fraction | 0x800000, shift);
  // Zero has no sign in JavaScript.
  return std::to_chars(out, out + float_text_bytes_max, value == 0 ? 0 : value).ptr;
}

}  // namespace understudy
