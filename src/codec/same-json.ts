/**
 * Whether two JSON texts say the same (decisions.md 9): member order, white space and the spelling of numbers and
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
  constructor(readonly text: string) {}
}

function exactParse(text: Buffer): unknown {
  const revive = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    return isExact(value, context.source) ? value : new Decimal(canonicalDecimal(context.source))
  }
  return JSON.parse(text.toString('utf8'), revive)
}

/** Up to 15 digits, different decimals are different doubles, unless they overflow or vanish. */
function isExact(value: number, source: string): boolean {
  if (value === 0) return !/[1-9]/.test(source.split(/[eE]/, 1)[0] as string)
  return source.length <= 15 && Number.isFinite(value)
}

function canonicalDecimal(source: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source)
  if (match === null) throw new Error(`not a JSON number: ${source.slice(0, 40)}`)
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const scale = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length)
  return `${sign}${significant}e${scale}`
}

function canonicalOf(value: number | Decimal): string {
  return value instanceof Decimal ? value.text : canonicalDecimal(String(value).replace('e+', 'e'))
}

/** Equality without recursion: a body may nest a thousand levels deep. */
function sameValue(x: unknown, y: unknown): boolean {
  const pairs: unknown[] = [x, y]
  while (pairs.length > 0) {
    const b = pairs.pop()
    const a = pairs.pop()
    if (a === b) continue
    if (isNumeric(a) && isNumeric(b)) {
      if (canonicalOf(a) !== canonicalOf(b)) return false
    } else if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false
      for (let i = 0; i < a.length; i++) pairs.push(a[i], b[i])
    } else if (isPlainObject(a) && isPlainObject(b)) {
      const names = Object.keys(a)
      if (names.length !== Object.keys(b).length) return false
      for (const name of names) {
        if (!Object.hasOwn(b, name)) return false
        pairs.push(a[name], b[name])
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
