/**
 * Where two JSON texts have different values (decisions.md 9): member order, white space and the spelling of numbers and
 * strings do not matter; array order does, and so does every unknown member.
 */
import { isObject } from '../base/index.js'
import { pathText, type FieldProblem } from '../contract/index.js'

/** The first differences are enough to find the cause. */
const differenceCountMax = 20
/** Limits for a path in a message, whose unknown names can have any length, and for a text. */
const pathCharsMax = 200
const textCharsMax = 40

/**
 * The first differences of two bodies that both parse, such as `engagement[3].views: was 900, is 901`. Empty if the
 * bodies have the same value.
 */
export function bodyDifferences(was: Uint8Array, is: Uint8Array): FieldProblem[] {
  return differencesOf(exactParse(was), exactParse(is))
}

/** A number that a double cannot represent exactly, by its digits: `12.50e3` is `125e2`. */
class Decimal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * A number with an exponent, or of 15 characters and more. A match inside a string costs only time.
 * Without any, every number is exact (see `isExact`), and plain parsing takes a tenth of the time and memory.
 */
const inexactPattern = /(?:^|[\s:,[])-?[\d.]{1,15}[eE]|\d[\d.]{14}/

function exactParse(body: Uint8Array): unknown {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  if (!inexactPattern.test(text)) return JSON.parse(text) as unknown
  const reviver = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    return isExact(value, context.source) ? value : new Decimal(canonicalDecimal(context.source))
  }
  return JSON.parse(text, reviver) as unknown
}

/** Doubles below it are subnormal and have fewer digits. */
const leastNormal = 2 ** -1022

/** With up to 15 digits, different decimals are different doubles, unless they overflow or are below `leastNormal`. */
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
  return `${sign}${significant}e${shiftExponent(exponent, shift)}`
}

/** An exponent with this many digits is exact as a double, even after adding any shift that fits into a body. */
const exponentDigitsMax = 15

/**
 * `exponent` + `shift` as text. Beyond 15 digits the two are kept separate: such numbers count as equal only with
 * equal shifts. Adding to an exponent of millions of digits would take seconds, for numbers that no field accepts.
 */
function shiftExponent(exponent: string, shift: number): string {
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

/** A loop, because `/0+$/` takes quadratic time on a long run of zeros. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === zero) end--
  return digits.slice(0, end)
}

function canonicalOf(value: number | Decimal): string {
  return value instanceof Decimal ? value.text : canonicalDecimal(String(value))
}

/**
 * The differences, in the order of the new body, without recursion: a body may nest a thousand levels deep. Memory
 * is proportional to the depth.
 */
function differencesOf(was: unknown, is: unknown): FieldProblem[] {
  const found: FieldProblem[] = []
  const open: Place[] = []
  const add = (problem: string): void => {
    const path = pathText(open.map(({ names, next }) => (names === null ? next : names[next]) ?? ''))
    found.push({ path: shorten(path, pathCharsMax), problem })
  }
  const compare = (a: unknown, b: unknown): void => {
    if (a === b) return
    if (isNumeric(a) && isNumeric(b)) {
      if (canonicalOf(a) !== canonicalOf(b)) add(`was ${textOf(a)}, is ${textOf(b)}`)
    } else if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) add(`had ${entries(a.length)}, has ${b.length}`)
      open.push({ was: a, is: b, names: null, next: -1, count: Math.min(a.length, b.length) })
    } else if (isPlainObject(a) && isPlainObject(b)) {
      const names = Object.keys(b)
      for (const name of Object.keys(a)) if (!Object.hasOwn(b, name)) names.push(name)
      open.push({ was: a, is: b, names, next: -1, count: names.length })
    } else add(`was ${textOf(a)}, is ${textOf(b)}`)
  }
  compare(was, is)
  for (let place = open.at(-1); place !== undefined; place = open.at(-1)) {
    if (found.length === differenceCountMax) break
    place.next++
    if (place.next === place.count) open.pop()
    else compare(childOf(place.was, place), childOf(place.is, place))
  }
  return found
}

/** A list or an object whose entries are being compared: `next` is the index of the current one. */
interface Place {
  readonly was: Container
  readonly is: Container
  /** Names of the members of an object; null for a list. */
  readonly names: readonly string[] | null
  next: number
  readonly count: number
}

type Container = readonly unknown[] | Readonly<Record<string, unknown>>

/** undefined if an object lacks the member. */
function childOf(container: Container, { names, next }: Place): unknown {
  const key = names === null ? next : (names[next] as string)
  return Object.hasOwn(container, key) ? (container as Record<string | number, unknown>)[key] : undefined
}

function textOf(value: unknown): string {
  if (value === undefined) return 'absent'
  if (value instanceof Decimal) return shorten(value.text.replace(/e0$/, ''), textCharsMax)
  if (typeof value === 'string') return JSON.stringify(shorten(value, textCharsMax))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

function shorten(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`
}

function isNumeric(value: unknown): value is number | Decimal {
  return typeof value === 'number' || value instanceof Decimal
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !(value instanceof Decimal)
}

function entries(count: number): string {
  return `${count} ${count === 1 ? 'entry' : 'entries'}`
}
