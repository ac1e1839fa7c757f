/**
 * Whether two JSON texts have the same value (decisions.md 9): member order, white space and the spelling of numbers and
 * strings do not matter; array order does, and so does every unknown member.
 */

/** Compares the values of two bodies that both parse. */
export function sameJson(a: Uint8Array, b: Uint8Array): boolean {
  const x = Buffer.from(a.buffer, a.byteOffset, a.byteLength)
  const y = Buffer.from(b.buffer, b.byteOffset, b.byteLength)
  return x.equals(y) || sameValue(exactParse(x), exactParse(y))
}

/** A number that a double does not hold exactly, by its digits: `12.50e3` is `125e2`. */
class Decimal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * A number with an exponent, or of 15 characters and more. Text in a string may look like one: that costs time only.
 * Without any, every number is exact (see `isExact`), and plain parsing takes a tenth of the time and memory.
 */
const inexactForm = /(?:^|[\s:,[])-?[\d.]{1,15}[eE]|\d[\d.]{14}/

function exactParse(body: Buffer): unknown {
  const text = body.toString('utf8')
  if (!inexactForm.test(text)) return JSON.parse(text) as unknown
  const revive = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    return isExact(value, context.source) ? value : new Decimal(canonicalDecimal(context.source))
  }
  return JSON.parse(text, revive) as unknown
}

/** Doubles below it have fewer digits. */
const leastNormal = 2 ** -1022

/** Up to 15 digits, different decimals are different doubles, unless they overflow, vanish or nearly do. */
function isExact(value: number, source: string): boolean {
  if (value === 0) return !/[1-9]/.test(source.split(/[eE]/, 1)[0] as string)
  return source.length <= 15 && Number.isFinite(value) && Math.abs(value) >= leastNormal
}

function canonicalDecimal(source: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source)
  if (match === null) throw new Error(`not a JSON number: ${source.slice(0, 40)}`)
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const digits = withoutLeadingZeros(whole + fraction)
  const significant = withoutTrailingZeros(digits)
  if (significant === '') return '0'
  const shift = digits.length - significant.length - fraction.length
  return `${sign}${significant}e${shifted(exponent, shift)}`
}

/** Digits of an exponent up to which it is exact as a double, with any shift that a body has room for. */
const exponentDigitsMax = 15

/**
 * `exponent` + `shift` as text. Beyond 15 digits the two stay apart: such numbers count as equal only with equal
 * shifts. Adding up an exponent of megabytes would take seconds, for numbers that no field accepts.
 */
function shifted(exponent: string, shift: number): string {
  const sign = exponent.startsWith('-') ? '-' : ''
  const digits = withoutLeadingZeros(exponent.replace(/^[+-]/, ''))
  if (digits.length > exponentDigitsMax) return `${sign}${digits}:${shift}`
  return String(Number(sign + (digits || '0')) + shift)
}

const zero = 0x30

function withoutLeadingZeros(digits: string): string {
  let start = 0
  while (digits.charCodeAt(start) === zero) start++
  return digits.slice(start)
}

/** By a loop: `/0+$/` tries every run of zeros in the text, and each as often as it is long. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === zero) end--
  return digits.slice(0, end)
}

function canonicalOf(value: number | Decimal): string {
  return value instanceof Decimal ? value.text : canonicalDecimal(String(value))
}

/** Equality without recursion: a body may nest a thousand levels deep. */
function sameValue(x: unknown, y: unknown): boolean {
  const pairs: unknown[] = [x, y]
  // Equal primitives are not queued: lists of millions of numbers need no memory.
  const push = (a: unknown, b: unknown): void => {
    if (a !== b) pairs.push(a, b)
  }
  while (pairs.length > 0) {
    const b = pairs.pop()
    const a = pairs.pop()
    if (a === b) continue
    if (isNumeric(a) && isNumeric(b)) {
      if (canonicalOf(a) !== canonicalOf(b)) return false
    } else if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false
      for (let i = 0; i < a.length; i++) push(a[i], b[i])
    } else if (isPlainObject(a) && isPlainObject(b)) {
      const names = Object.keys(a)
      if (names.length !== Object.keys(b).length) return false
      for (const name of names) {
        if (!Object.hasOwn(b, name)) return false
        push(a[name], b[name])
      }
    } else return false
  }
  return true
}

function isNumeric(value: unknown): value is number | Decimal {
  return typeof value === 'number' || value instanceof Decimal
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Decimal)
}
