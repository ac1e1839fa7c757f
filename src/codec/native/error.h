// What can come of a decode: one enum, one sentence a code. Nothing here says what is wrong with a body in
// the words of the contract: every code but `none` and `row_capacity` means "ask the reference decoder",
// which words it.
#pragma once

#include <cstdint>

namespace understudy {

#define UNDERSTUDY_DECODE_ERRORS(X)                                                                    \
  X(none, "The body was decoded.")                                                                     \
  X(row_capacity, "A list has more rows than its columns have room for: allocate more and ask again.") \
  X(tokens, "Stage 1 of simdjson refuses the bytes: UTF-8, an open string, a raw control character.")  \
  X(grammar, "Brackets, commas, colons and scalars do not form one JSON object.")                      \
  X(value, "A member holds a value that its plan refuses.")                                            \
  X(missing_member, "A member that must be there is not.")                                             \
  X(duplicate_member, "A known member stands twice in one object.")                                    \
  X(unusual_name, "A member name has an escape, is very long or looks like an array index.")           \
  X(unusual_text, "A text that is taken as it stands has an escape, or an escape is no code point.")   \
  X(unusual_number,                                                                                    \
    "An integer is spelled with an exponent, a fraction or more digits than a double holds.")          \
  X(too_deep, "Unknown members nest deeper, or hold more, than the native decoder follows.")                       \
  X(too_many_rows, "A list has more rows than its plan allows.")                                       \
  X(too_long, "The body is longer than simdjson takes.")

/// Outcome of a decode. JavaScript knows the codes by their position in `decode_error_sentences`.
enum class decode_error : uint8_t {
#define X(code, sentence) code,
  UNDERSTUDY_DECODE_ERRORS(X)
#undef X
};

/// One sentence for people, by code.
inline constexpr const char* decode_error_sentences[] = {
#define X(code, sentence) sentence,
    UNDERSTUDY_DECODE_ERRORS(X)
#undef X
};

}  // namespace understudy
