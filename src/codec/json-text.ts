/**
 * JSON text: parsing with a byte offset in every error, within the bounds of json-bounds.ts. JSON.parse decides; the walk
 * over bytes runs only on bodies that it has refused, and finds the offset.
 */
import { isUtf8 } from 'node:buffer'
import { ServiceError } from '../contract/index.js'
import { checkJsonBounds } from './json-bounds.js'

/** The value of a JSON body. Throws `bad_request` with the byte offset where UTF-8, JSON or its bounds are broken. */
export function parseJson(body: Uint8Array): unknown {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!isUtf8(bytes)) {
    throw new ServiceError('bad_request', `the body is not valid UTF-8 at byte ${invalidUtf8Offset(bytes)}`)
  }
  checkJsonBounds(bytes)
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const offset = syntaxErrorOffset(bytes)
    const what = offset === bytes.length ? 'the body ends too early, at' : 'the body is not valid JSON at'
    throw new ServiceError('bad_request', `${what} byte ${offset}`)
  }
}

function invalidUtf8Offset(bytes: Buffer): number {
  // Decoding puts U+FFFD where a sequence is invalid: the first difference after encoding again is the place.
  const repaired = Buffer.from(bytes.toString('utf8'))
  let offset = 0
  while (offset < bytes.length && bytes[offset] === repaired[offset]) offset++
  return offset
}

type Expectation = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd' | 'end'

const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a

/** Where a JSON grammar walk over `bytes` fails; their length when only something is missing at the end. */
export function syntaxErrorOffset(bytes: Buffer): number {
  const closers: number[] = []
  let expect: Expectation = 'value'
  let at = 0
  for (;;) {
    at = skipWhiteSpace(bytes, at)
    const byte = bytes[at]
    if (byte === undefined || expect === 'end') return at
    if (expect === 'colon') {
      if (byte !== colon) return at
      at++
      expect = 'value'
    } else if (expect === 'commaOrEnd' && byte === comma) {
      at++
      expect = closers.at(-1) === closeBrace ? 'key' : 'value'
    } else if ((expect === 'commaOrEnd' || expect.endsWith('OrEnd')) && byte === closers.at(-1)) {
      at++
      closers.pop()
      expect = closers.length === 0 ? 'end' : 'commaOrEnd'
    } else if (expect === 'commaOrEnd') {
      return at
    } else if (byte === quote) {
      const end = stringEnd(bytes, at)
      if (!end.closed) return end.at
      at = end.at
      expect = expect.startsWith('key') ? 'colon' : closers.length === 0 ? 'end' : 'commaOrEnd'
    } else if (expect.startsWith('key')) {
      return at
    } else if (byte === openBrace || byte === openBracket) {
      closers.push(byte === openBrace ? closeBrace : closeBracket)
      expect = byte === openBrace ? 'keyOrEnd' : 'valueOrEnd'
      at++
    } else {
      const end = scalarEnd(bytes, at)
      if (!end.closed) return end.at
      at = end.at
      expect = closers.length === 0 ? 'end' : 'commaOrEnd'
    }
  }
}

interface TokenEnd {
  readonly closed: boolean
  readonly at: number
}

function skipWhiteSpace(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
  return at
}

function stringEnd(bytes: Buffer, from: number): TokenEnd {
  for (let at = from + 1; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === quote) return { closed: true, at: at + 1 }
    if (byte < 0x20) return { closed: false, at }
    if (byte !== backslash) continue
    at++
    const escape = String.fromCharCode(bytes[at] ?? 0)
    if (escape === 'u') {
      for (let digit = 0; digit < 4; digit++) {
        at++
        if (!/[0-9a-fA-F]/.test(String.fromCharCode(bytes[at] ?? 0)))
          return { closed: false, at: Math.min(at, bytes.length) }
      }
    } else if (!'"\\/bfnrt'.includes(escape)) return { closed: false, at: Math.min(at, bytes.length) }
  }
  return { closed: false, at: bytes.length }
}

const numberForm = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function scalarEnd(bytes: Buffer, from: number): TokenEnd {
  for (const literal of ['true', 'false', 'null']) {
    if (bytes[from] !== literal.charCodeAt(0)) continue
    for (let i = 1; i < literal.length; i++) {
      if (bytes[from + i] !== literal.charCodeAt(i))
        return { closed: false, at: Math.min(from + i, bytes.length) }
    }
    return { closed: true, at: from + literal.length }
  }
  let end = from
  while (end < bytes.length && /[-+.0-9eE]/.test(String.fromCharCode(bytes[end] as number))) end++
  const token = bytes.toString('latin1', from, end)
  numberForm.lastIndex = 0
  const match = numberForm.exec(token)
  if (match === null) return { closed: false, at: token.startsWith('-') ? from + 1 : from }
  // What follows the longest number is read as the next token: a point or sign there is the error.
  return match[0].length === token.length
    ? { closed: true, at: end }
    : { closed: false, at: from + match[0].length }
}
