/**
 * JSON texts that decoders disagree about: spellings of numbers, strings, times and whole values, good and bad.
 */
import type { Random } from '../harness/rng.js'

export const numberTexts = [
  '0', '1', '-0', '0.0', '-0.0', '1.0', '7.00', '1.5', '1e3', '1E+2', '1e-1', '10e-1', '0e5', '100e-2', '5.0e0',
  '01', '00', '-01', '1.', '.5', '+1', '-', '-1', '--1', '1e', '1e+', '0x10', '1_000', 'NaN', 'Infinity', '1.0.0',
  '255', '256', '32767', '32768', '32767.0', '4294967295', '4294967296', '999999999999999', '9007199254740991',
  '9007199254740992', '9007199254740993', '9007199254740991.0', '9007199254740991.4', '9007199254740990.5',
  '-9007199254740991', '-9007199254740992', '10000000000000000', '9999999999999999', '12345678901234567890',
  '18446744073709551616', '1e308', '1e400', '-1e400', '1e-400', '0.000000000000000000001', '1' + '0'.repeat(400),
] as const // prettier-ignore

export const timeTexts = [
  '"2026-01-05T09:00:00+09:00"', '"2026-01-05T00:00:00Z"', '"2026-01-05t00:00:00z"', '"2026-01-05T00:00:00.5Z"',
  '"2026-01-05T00:00:00.123Z"', '"2026-01-05T00:00:00.123456Z"', '"2026-01-05T00:00:00.000000001Z"',
  '"2026-01-05T00:00:00.123999999999999999Z"', '"2026-01-05T00:00:00.9999999999999999999999Z"',
  '"2026-01-05T00:00:00.1234567890123456789012345678901234567890123Z"',
  '"2026-01-05T00:00:00.12345678901234567890123456789012345678901234567Z"', '"2026-01-05T00:00:00.Z"',
  '"2026-01-05T00:00:00"', '"2026-01-05 00:00:00Z"', '"2026-02-29T00:00:00Z"', '"2024-02-29T00:00:00Z"',
  '"1900-02-29T00:00:00Z"', '"2000-02-29T23:59:59-23:59"', '"0000-02-29T00:00:00Z"', '"0000-01-01T00:00:00+23:59"',
  '"9999-12-31T23:59:59Z"', '"1969-12-31T23:59:59.999Z"', '"2026-13-01T00:00:00Z"', '"2026-00-01T00:00:00Z"',
  '"2026-01-32T00:00:00Z"', '"2026-01-00T00:00:00Z"', '"2026-01-05T24:00:00Z"', '"2026-01-05T00:60:00Z"',
  '"2026-01-05T00:00:60Z"', '"2016-12-31T23:59:60Z"', '"2017-01-01T08:59:60+09:00"', '"2016-12-31T23:59:60.25Z"',
  '"2016-12-31T23:59:61Z"', '"1970-01-01T00:00:00-00:00"', '"1970-01-01T00:00:00+00:00"',
  '"2026-01-05T00:00:00+24:00"', '"2026-01-05T00:00:00+0900"', '"2026-01-05T00:00:00+09:60"', '" 2026-01-05T00:00:00Z"',
  '"2026-01-05T00:00:00Z "', '"2026-01-05T00:00:00\\u005a"', '"2026-01-05T00:00:0０Z"', '"20260105T0000"',
  '"20260105T000"', '"20260105T00000"', '"20260105t0000"', '"2026010５T0000"', '"\\u0032\\u0030260105T0000"',
] as const // prettier-ignore

export const stringTexts = [
  '""', '"a"', '" "', '"가나다"', '"\\u0041"', '"\\ud55c\\uae00 \\u314b\\u314b"', '"\\ud83d\\ude00"', '"😀"', '"\\ud83d"',
  '"\\ude00"', '"\\ude00\\ud83d"', '"\\ud83d\\ue000"', '"\\ud83d\\u0041"', '"\\ud83d\\\\ude00"', '"\\u0000"', '"\\x41"', '"\\u12"', '"\\u12g4"',
  '"\\"', '"\\\\"', '"\\""', '"\\/"', '"\\b\\f\\n\\r\\t"', '"\t"', '"\n"', '"\u0000"', '"\u007f"', '"\u00a0a"', '"\u3000"', '"\ufeff"',
  '"x\u2003y\u2028z"', '"\u1680"', '"\u200b"', '"<a href=\\"x\\">y</a>"', '"<a\u3000b>c"', '"<a>"', '"<a"', '"a<b"', '"<>"', '"<<img>>"',
  '"<IMG src=1><i><im><img>"', '"<p>가 나</p> 다"', "'a'", '"unterminated', 'abc"', '"ok"', '"scored"', '"saved"', '"main"',
  '"missing"', '"nomap"', '"manual"', '"hidden"', '"Main"', '"main "', '"\\u006dain"', '"deleted"', '"mini"',
] as const // prettier-ignore

const otherTexts = [
  'null', 'true', 'false', 'nul', 'nulll', 'True', 'undefined', '{}', '[]', '[{}]', '{"a":1}', '[1,2,3]', '[1,1]',
  '[3,2,1]', '[1,2,1.0]', '[0]', '[1,]', '[,1]', '[1 2]', '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{"a":1,"a":2}',
  '{"gall_id":"x"}', '[[[[[]]]]]', '[null]', '[1,null]', '[9007199254740991,1]', '[9007199254740993]', '["1"]', '}', ']',
  '[1}', '{"a":1]', '{1:2}', '{"\\u0061":[{}]}', '{"__proto__":1}', ',', ':', '[1.0,2e0]', '[-0]', '',
  '[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,1]', '[18,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1]',
] as const // prettier-ignore

/** Starts and ends of the ranges that text measures distinguish. */
const pointEdges = [
  0x20, 0x21, 0x2f, 0x30, 0x39, 0x3a, 0x3c, 0x3e, 0x3f, 0x40, 0x41, 0x5a, 0x5b, 0x60, 0x61, 0x7a, 0x7b, 0x7e, 0x80, 0x85,
  0x9f, 0xa0, 0xa1, 0xc0, 0xff, 0x7ff, 0x800, 0x10ff, 0x1100, 0x11ff, 0x1200, 0x167f, 0x1680, 0x1681, 0x1fff, 0x2000,
  0x200a, 0x200b, 0x2027, 0x2028, 0x2029, 0x202f, 0x2030, 0x205f, 0x2060, 0x2fff, 0x3000, 0x3001, 0x3130, 0x3131, 0x314b,
  0x314e, 0x3160, 0x318e, 0x318f, 0x4dff, 0x4e00, 0x9fff, 0xa000, 0xabff, 0xac00, 0xb000, 0xd7a3, 0xd7a4, 0xd7ff, 0xe000,
  0xfeff, 0xff00, 0xffff, 0x10000, 0x1efff, 0x1f000, 0x1f600, 0x3ffff, 0x10ffff,
] as const // prettier-ignore

/** A string of code points at the edges of classes, long enough to fill vectors, with markup and escapes here and there. */
export function textOfEdges(random: Random): string {
  let text = ''
  const edges = Array.from({ length: 1 + random.below(6) }, () => random.pick(pointEdges))
  const pieces = [
    '<p>',
    '</p>',
    '<img src=x>',
    '<a href=y>',
    '<a>',
    '<',
    '>',
    ' ',
    '가나다',
    'ㅋㅋ',
    'abc 12?!',
  ]
  for (let count = random.below(90); count > 0; count--) {
    text += random.chance(0.2) ? random.pick(pieces) : String.fromCodePoint(random.pick(edges))
  }
  const json = JSON.stringify(text)
  return random.chance(0.2) ? asciiOnly(json) : json
}

function asciiOnly(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Nested brackets, deeper than a decoder might follow. */
function nested(random: Random): string {
  const depth = random.pick([2, 63, 64, 65, 1000, 1019, 1020, 1021, 1022, 1023, 1024, 1025])
  return random.chance(0.5)
    ? '['.repeat(depth) + ']'.repeat(depth)
    : '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
}

/** Any text in the place of a value. */
export function valueText(random: Random): string {
  switch (random.below(8)) {
    case 0:
    case 1:
      return random.pick(numberTexts)
    case 2:
      return random.pick(timeTexts)
    case 3:
    case 4:
      return random.pick(stringTexts)
    case 5:
      return textOfEdges(random)
    case 6:
      return random.chance(0.1) ? nested(random) : random.pick(otherTexts)
    default:
      return random.pick(otherTexts)
  }
}
