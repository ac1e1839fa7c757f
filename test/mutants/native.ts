/** Mutants of the C++ in src/codec/native. Each needs a compilation. */
import type { MutantGroup } from './mutant.js'

export const nativeMutants: readonly MutantGroup[] = [
  {
    file: 'src/codec/native/date_time.cc',
    killedBy: ['src/codec/differential.test.ts'],
    mutants: [
      { breaks: 'a year divisible by 400 is a leap year', find: '|| year % 400 == 0', replace: '' },
      {
        breaks: 'an offset west of UTC is subtracted',
        find: "(*at == '-' ? -1 : 1) * (hour",
        replace: '(hour',
      },
      {
        breaks: 'a leap second is at 23:59:60 UTC only',
        find: 'time_of_day != day_ms - minute_ms',
        replace: 'time_of_day % hour_ms != hour_ms - minute_ms',
      },
    ],
  },
  {
    file: 'src/codec/native/scalars.cc',
    killedBy: ['src/codec/differential.test.ts'],
    mutants: [
      {
        breaks: 'a number has no leading zeros',
        find: 'if (sum != 0) {',
        replace: 'if (true) {',
      },
      {
        breaks: 'the lower half of a surrogate pair alone is left to the reference',
        find: 'point > 0xffff || (point >= 0xdc00 && point < 0xe000)',
        replace: 'point > 0xffff',
      },
    ],
  },
  {
    file: 'src/codec/native/text_measures.cc',
    killedBy: ['src/codec/codec.test.ts', 'src/codec/differential.test.ts'],
    mutants: [
      {
        breaks: 'the last Hangul syllable is U+D7A3',
        find: 'last_row & between(load(at + 2), 0x80, 0xa3)',
        replace: 'last_row & between(load(at + 2), 0x80, 0xa2)',
      },
      { breaks: 'U+2029 is white space', find: 'between(third, 0xa8, 0xa9)', replace: 'equal(third, 0xa8)' },
      {
        breaks: 'CJK ideographs begin at U+4E00',
        find: '(equal(b, 0xe4) & between(second, 0xb8, 0xbf))',
        replace: '(equal(b, 0xe4) & between(second, 0xb9, 0xbf))',
      },
    ],
  },
  {
    file: 'src/codec/native/decoder.cc',
    killedBy: ['src/codec/differential.test.ts'],
    mutants: [
      {
        breaks: 'a member that occurs twice is left to the reference',
        find: 'if ((seen & bit) != 0) return nullptr;',
        replace: '',
      },
      {
        breaks: 'a saved removal without a tier is refused',
        find: 'if (other_seen && column<uint8_t>(other.columns.first)[row] == member.condition.code) return false;',
        replace:
          'if (other_seen && column<uint8_t>(other.columns.first)[row] == member.condition.code) return true;',
      },
      {
        breaks: 'an integer of exactly the maximum is accepted',
        find: 'return read_integer(token, next, value) && value >= member.limits.minimum && value <= member.limits.maximum;',
        replace: 'return read_integer(token, next, value) && value >= member.limits.minimum;',
      },
      {
        breaks: 'a required member must be present',
        find: 'if ((plan.required_mask & ~seen) != 0) return false;',
        replace: '',
      },
      {
        breaks: 'image positions name no item twice',
        find: 'return are_distinct(integers_) ? at : nullptr;',
        replace: 'return at;',
      },
      {
        breaks: 'what follows the body is refused',
        find: 'if (at != end_) return false;',
        replace: '',
      },
    ],
  },
  {
    file: 'src/codec/native/column_program.cc',
    killedBy: ['src/codec/column-program.test.ts'],
    mutants: [
      {
        breaks: 'coalesce takes the second operand if the first is NaN',
        find: 'return x == x ? x : y;',
        replace: 'return y == y ? y : x;',
      },
      {
        breaks: 'an index past the end of a column is refused',
        find: 'program.row_count == 0 ? 0 : size_t{*last} + 1',
        replace: 'program.row_count == 0 ? 0 : size_t{*last}',
      },
    ],
  },
  {
    file: 'src/codec/native/response_rows.cc',
    killedBy: ['src/codec/differential.test.ts'],
    mutants: [
      {
        breaks: 'a score that is not finite is refused',
        find: 'if (!std::isfinite(values[index])) return 0;',
        replace: '',
      },
    ],
  },
  {
    file: 'src/codec/native/float_text.cc',
    killedBy: ['src/codec/differential.test.ts'],
    mutants: [
      { breaks: 'a score has no zeros at its end', find: "while (end[-1] == '0') end--;", replace: '' },
      {
        breaks: 'halves are rounded up, as toPrecision does',
        find: 'constexpr int digits_max = 9;',
        replace: 'constexpr int digits_max = 8;',
      },
    ],
  },
  {
    file: 'src/codec/native/fingerprint.cc',
    killedBy: ['src/codec/differential.test.ts'],
    mutants: [
      {
        breaks: 'a fingerprint covers the bytes of the last block',
        find: 'if (at < bytes) {',
        replace: 'if (at + 1 < bytes) {',
      },
    ],
  },
]
