// See crc32.h. A message is folded: what has been read is a polynomial of 128 bits, and in place of one that lies n
// bits before other bytes, any that equals it times x^n modulo P may be laid over those bytes ("Fast CRC Computation
// for Generic Polynomials Using PCLMULQDQ Instruction", V. Gopal and others, Intel, 2009). Several of them side by side
// keep the multiplier busy, which gives a product after some cycles but can begin others meanwhile.
#include "crc32.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#endif

namespace understudy {

#if defined(__x86_64__)

namespace {

/// P = x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, without its x^32:
/// bit i stands for x^(31 - i).
constexpr uint32_t polynomial = 0xedb88320;

constexpr uint32_t times_x(uint32_t remainder) noexcept {
  return (remainder >> 1) ^ ((remainder & 1) != 0 ? polynomial : 0);
}

/// x^n modulo P.
constexpr uint32_t power_of_x(size_t n) noexcept {
  uint32_t remainder = 0x80000000;  // x^0
  for (; n > 0; n--) remainder = times_x(remainder);
  return remainder;
}

/// What a half of a vector is multiplied with to be moved on by `bits`: as 64 bits, where bit i stands for x^(63 - i).
/// It is one power less than that, since the product of two such halves has 127 bits and is laid into 128 from their
/// lowest, whose place is that of x^127 and not x^126: it is multiplied with x once more.
constexpr int64_t moving_by(size_t bits) noexcept {
  return static_cast<int64_t>(uint64_t{power_of_x(bits - 1)} << 32);
}

static_assert(power_of_x(32) == polynomial, "x^32 is what is left of P");

// ---- byte by byte: what is left when nothing can be folded any more

constexpr std::array<uint32_t, 256> make_byte_table() noexcept {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); byte++) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; bit++) remainder = times_x(remainder);
    table[byte] = remainder;
  }
  return table;
}

constexpr std::array<uint32_t, 256> byte_table = make_byte_table();

/// `remainder` moved on by the bytes, with them: the CRC but for the inversion of its bits at both ends.
uint32_t remainder_of(const uint8_t* bytes, size_t count, uint32_t remainder) noexcept {
  for (size_t i = 0; i < count; i++) remainder = (remainder >> 8) ^ byte_table[(remainder ^ bytes[i]) & 0xff];
  return remainder;
}

// ---- folding; the package is compiled for every x86-64, so what needs more says so, and is chosen at run time

// AVX for its encoding of three registers: without it the same instructions were measured at 60 % of the speed.
#define UNDERSTUDY_128 __attribute__((target("avx,pclmul")))
#define UNDERSTUDY_256 __attribute__((target("avx2,pclmul,vpclmulqdq")))
#define UNDERSTUDY_512 __attribute__((target("avx512f,pclmul,vpclmulqdq")))

/// A part of the message. Nothing here takes or gives a vector by value: how that is done depends on the target.
struct vector_128 {
  __m128i value;

  UNDERSTUDY_128 void load(const uint8_t* bytes) noexcept {
    value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  }
  UNDERSTUDY_128 void store(uint8_t* bytes) const noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), value);
  }
  /// Lays the CRC of the bytes before them over the first ones.
  UNDERSTUDY_128 void begin(uint32_t before) noexcept {
    value = _mm_xor_si128(value, _mm_cvtsi32_si128(static_cast<int>(~before)));
  }
  /// Moves it on by `bits` and takes in the bytes there. The lower half has the higher powers: it moves 64 bits more.
  template <size_t bits>
  UNDERSTUDY_128 void fold(const uint8_t* bytes) noexcept {
    constexpr int64_t high = moving_by(bits);
    constexpr int64_t low = moving_by(bits + 64);
    const __m128i factors = _mm_set_epi64x(high, low);
    const __m128i moved = _mm_xor_si128(_mm_clmulepi64_si128(value, factors, 0x00),
                                        _mm_clmulepi64_si128(value, factors, 0x11));
    load(bytes);
    value = _mm_xor_si128(value, moved);
  }
};

/// Two such parts side by side: where there is this instruction, it was measured to take no longer than that for one.
struct vector_256 {
  __m256i value;

  UNDERSTUDY_256 void load(const uint8_t* bytes) noexcept {
    value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  }
  UNDERSTUDY_256 void store(uint8_t* bytes) const noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes), value);
  }
  UNDERSTUDY_256 void begin(uint32_t before) noexcept {
    value = _mm256_xor_si256(value, _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(~before))));
  }
  template <size_t bits>
  UNDERSTUDY_256 void fold(const uint8_t* bytes) noexcept {
    constexpr int64_t high = moving_by(bits);
    constexpr int64_t low = moving_by(bits + 64);
    const __m256i factors = _mm256_set_epi64x(high, low, high, low);
    const __m256i moved = _mm256_xor_si256(_mm256_clmulepi64_epi128(value, factors, 0x00),
                                           _mm256_clmulepi64_epi128(value, factors, 0x11));
    load(bytes);
    value = _mm256_xor_si256(value, moved);
  }
};

/// Four of them.
struct vector_512 {
  __m512i value;

  UNDERSTUDY_512 void load(const uint8_t* bytes) noexcept { value = _mm512_loadu_si512(bytes); }
  UNDERSTUDY_512 void store(uint8_t* bytes) const noexcept { _mm512_storeu_si512(bytes, value); }
  UNDERSTUDY_512 void begin(uint32_t before) noexcept {
    value = _mm512_xor_si512(value, _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~before))));
  }
  template <size_t bits>
  UNDERSTUDY_512 void fold(const uint8_t* bytes) noexcept {
    constexpr int64_t high = moving_by(bits);
    constexpr int64_t low = moving_by(bits + 64);
    const __m512i factors = _mm512_set4_epi64(high, low, high, low);
    const __m512i moved = _mm512_xor_si512(_mm512_clmulepi64_epi128(value, factors, 0x00),
                                           _mm512_clmulepi64_epi128(value, factors, 0x11));
    load(bytes);
    value = _mm512_xor_si512(value, moved);
  }
};

/// `all` and what follows it, down to its CRC.
UNDERSTUDY_128 uint32_t finish(vector_128& all, const uint8_t* bytes, size_t count) noexcept {
  constexpr size_t vector_bytes = sizeof all;
  for (; count >= vector_bytes; bytes += vector_bytes, count -= vector_bytes) all.fold<8 * vector_bytes>(bytes);
  uint8_t left[vector_bytes];
  all.store(left);
  return ~remainder_of(bytes, count, remainder_of(left, vector_bytes, 0));
}

/// For fewer bytes than several vectors hold.
UNDERSTUDY_128 uint32_t crc32_short(const uint8_t* bytes, size_t count, uint32_t value) noexcept {
  vector_128 all;
  if (count < sizeof all) return ~remainder_of(bytes, count, ~value);
  all.load(bytes);
  all.begin(value);
  return finish(all, bytes + sizeof all, count - sizeof all);
}

/// The loop over several vectors; what they leave is itself folded, as bytes. It is compiled into each of its callers,
/// for their target.
template <typename vector>
[[gnu::always_inline]] inline uint32_t crc32_wide(const uint8_t* bytes, size_t count, uint32_t value) noexcept {
  // Two products each: as many as can begin, one a cycle, until the first is there (4 to 8 cycles).
  constexpr size_t lane_count = 4;
  constexpr size_t step_bytes = lane_count * sizeof(vector);
  if (count < step_bytes) return crc32_short(bytes, count, value);
  vector lanes[lane_count];
  for (size_t i = 0; i < lane_count; i++) lanes[i].load(bytes + i * sizeof(vector));
  lanes[0].begin(value);
  bytes += step_bytes;
  count -= step_bytes;
  for (; count >= step_bytes; bytes += step_bytes, count -= step_bytes)
    for (size_t i = 0; i < lane_count; i++) lanes[i].template fold<8 * step_bytes>(bytes + i * sizeof(vector));
  uint8_t left[step_bytes];
  for (size_t i = 0; i < lane_count; i++) lanes[i].store(left + i * sizeof(vector));
  vector_128 all;
  all.load(left);
  for (size_t at = sizeof all; at < step_bytes; at += sizeof all) all.fold<8 * sizeof all>(left + at);
  return finish(all, bytes, count);
}

UNDERSTUDY_128 uint32_t crc32_128(const uint8_t* bytes, size_t count, uint32_t value) noexcept {
  return crc32_wide<vector_128>(bytes, count, value);
}

UNDERSTUDY_256 uint32_t crc32_256(const uint8_t* bytes, size_t count, uint32_t value) noexcept {
  return crc32_wide<vector_256>(bytes, count, value);
}

UNDERSTUDY_512 uint32_t crc32_512(const uint8_t* bytes, size_t count, uint32_t value) noexcept {
  return crc32_wide<vector_512>(bytes, count, value);
}

#undef UNDERSTUDY_128
#undef UNDERSTUDY_256
#undef UNDERSTUDY_512

}  // namespace

std::vector<crc32_function> crc32_functions() {
  if (!__builtin_cpu_supports("avx") || !__builtin_cpu_supports("pclmul")) return {};
  std::vector<crc32_function> functions = {crc32_128};
  const auto add_faster = [&](crc32_function function) { functions.insert(functions.begin(), function); };
  if (__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2")) add_faster(crc32_256);
  if (__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f")) add_faster(crc32_512);
  return functions;
}

#else

std::vector<crc32_function> crc32_functions() { return {}; }

#endif

}  // namespace understudy
