// The outcomes of a decode: one enum, one sentence for each code. Every code except `none` and `row_capacity` means that
// the reference decoder has to examine the body; it words the errors of the contract.
#pragma once

#include <cstdint>

namespace understudy {

#define UNDERSTUDY_DECODE_ERRORS(X)                                                                    \
  X(none, "The body was decoded.")                                                                     \
  X(row_capacity, "A list has more rows than its columns have room for: allocate more and decode again.") \
  X(tokens, "Stage 1 of simdjson refuses the bytes: UTF-8, an open string, a raw control character.")  \
  X(grammar, "Brackets, commas, colons and scalars do not form one JSON object.")                      \
  X(value, "A member holds a value that its plan refuses.")                                            \
  X(missing_member, "A required member is missing.")                                             \
  X(duplicate_member, "A known member occurs twice in one object.")                                    \
  X(unusual_name, "A member name has an escape, is very long or looks like an array index.")           \
  X(unusual_text, "A text that is copied has an escape, or an escape is not a code point.")   \
  X(unusual_number,                                                                                    \
    "An integer is spelled with an exponent, a fraction or more digits than a double holds.")          \
  X(too_deep, "Unknown members nest deeper or hold more than the native decoder follows.")                        \
  X(too_many_rows, "A list has more rows than its plan allows.")                                       \
  X(too_long, "The body is longer than simdjson takes.")

/// Outcome of a decode. In JavaScript a code is a position in `decode_error_sentences`.
enum class decode_error : uint8_t {
#define X(code, sentence) code,
  UNDERSTUDY_DECODE_ERRORS(X)
#undef X
};

/// One human-readable sentence per code.
inline constexpr const char* decode_error_sentences[] = {
#define X(code, sentence) sentence,
    UNDERSTUDY_DECODE_ERRORS(X)
#undef X
};

}  // namespace understudy
