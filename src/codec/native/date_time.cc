// See date_time.h.
#include "date_time.h"

namespace understudy {

namespace {

constexpr int64_t second_ms = 1000;
constexpr int64_t minute_ms = 60 * second_ms;
constexpr int64_t hour_ms = 60 * minute_ms;
constexpr int64_t day_ms = 24 * hour_ms;

/// `2026-01-05T09:00:00`, before the fraction and the offset.
constexpr size_t whole_bytes = 19;

/// Numerator and denominator of the fraction are exact up to here, so their quotient is rounded once, as
/// `Number` does.
constexpr size_t fraction_digits_max = 15;

/// Reads two digits; false if there are not two.
[[nodiscard]] bool read_two(const uint8_t* at, int64_t& value) noexcept {
  const uint32_t tens = at[0] - uint32_t{'0'};
  const uint32_t ones = at[1] - uint32_t{'0'};
  value = tens * 10 + ones;
  return tens <= 9 && ones <= 9;
}

[[nodiscard]] int64_t days_in_month(int64_t year, int64_t month) noexcept {
  constexpr int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days[month - 1];
}

/// Days from 1 January 1970 in the proleptic Gregorian calendar, for years from 0 on.
[[nodiscard]] int64_t days_since_epoch(int64_t year, int64_t month, int64_t day) noexcept {
  // Years start in March here, so that the leap day is the last of its year; the epoch is day 719,468 of that
  // count, and 400 years (146,097 days) more keep January and February of year 0 positive.
  const int64_t shifted = year + 400 - (month <= 2);
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + day_of_year - 719468 - 146097;
}

/// Milliseconds and the rest from the digits of a second in [at, end).
[[nodiscard]] bool read_fraction(const uint8_t* at, const uint8_t* end, int64_t& ms,
                                 double& fraction) noexcept {
  constexpr double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  ms = 0;
  for (int64_t unit = 100; unit > 0 && at < end; unit /= 10) ms += (*at++ - '0') * unit;
  const size_t digits = static_cast<size_t>(end - at);
  if (digits > fraction_digits_max) return false;
  int64_t rest = 0;
  while (at < end) rest = rest * 10 + (*at++ - '0');
  fraction = static_cast<double>(rest) / powers[digits];
  return true;
}

/// The offset in [at, end): `Z` or `+hh:mm`.
[[nodiscard]] bool read_offset(const uint8_t* at, const uint8_t* end, int64_t& offset_ms) noexcept {
  offset_ms = 0;
  if (end - at == 1) return (*at | 0x20) == 'z';
  int64_t hour;
  int64_t minute;
  if (end - at != 6 || (*at != '+' && *at != '-') || at[3] != ':') return false;
  if (!read_two(at + 1, hour) || !read_two(at + 4, minute) || hour > 23 || minute > 59) return false;
  offset_ms = (*at == '-' ? -1 : 1) * (hour * hour_ms + minute * minute_ms);
  return true;
}

}  // namespace

bool read_date_time(const uint8_t* text, size_t bytes, instant& at) noexcept {
  if (bytes <= whole_bytes || bytes > date_time_bytes_max) return false;
  int64_t century, year, month, day, hour, minute, second;
  const bool digits = read_two(text, century) & read_two(text + 2, year) & read_two(text + 5, month) &
                      read_two(text + 8, day) & read_two(text + 11, hour) & read_two(text + 14, minute) &
                      read_two(text + 17, second);
  const bool marks =
      text[4] == '-' && text[7] == '-' && (text[10] | 0x20) == 't' && text[13] == ':' && text[16] == ':';
  if (!digits || !marks) return false;
  year += century * 100;
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return false;
  if (hour > 23 || minute > 59 || second > 60) return false;

  const uint8_t* rest = text + whole_bytes;
  const uint8_t* end = text + bytes;
  int64_t ms = 0;
  at.fraction = 0;
  if (*rest == '.') {
    const uint8_t* from = ++rest;
    while (rest < end && *rest - uint32_t{'0'} <= 9) rest++;
    if (rest == from || !read_fraction(from, rest, ms, at.fraction)) return false;
  }
  int64_t offset_ms;
  if (!read_offset(rest, end, offset_ms)) return false;

  const int64_t minute_start =
      days_since_epoch(year, month, day) * day_ms + hour * hour_ms + minute * minute_ms - offset_ms;
  // A leap second exists only at 23:59:60 UTC.
  const int64_t time_of_day = ((minute_start % day_ms) + day_ms) % day_ms;
  if (second == 60 && time_of_day != day_ms - minute_ms) return false;
  at.ms = static_cast<double>(minute_start + second * second_ms + ms);
  return true;
}

}  // namespace understudy
