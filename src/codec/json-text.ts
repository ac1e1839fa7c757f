/**
 * JSON text: parsing with a byte offset in every error, within the bounds of json-bounds.ts. JSON.parse decides; the walk
 * over bytes runs only on bodies that it has refused, and finds the offset.
 */
import { isUtf8 } from 'node:buffer'
import { ServiceError } from '../contract/index.js'
import { asBuffer } from './body-buffer.js'
import { checkJsonBounds } from './json-bounds.js'

/** The value of a JSON body. Throws `bad_request` with the byte offset where UTF-8, JSON or its bounds are broken. */
export function parseJson(body: Uint8Array): unknown {
  const bytes = asBuffer(body)
  if (!isUtf8(bytes)) throw new ServiceError({ code: 'not_utf8', byte: invalidUtf8Offset(bytes) })
  checkJsonBounds(bytes)
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const byte = syntaxErrorOffset(bytes)
    throw new ServiceError({ code: byte === bytes.length ? 'json_ends_early' : 'not_json', byte })
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

// Tokens. An invalid token is correct up to the end of its partial form.
const whiteSpace = /[ \n\r\t]*/y
const plainCharacters = /[ !#-[\]-\xff]*/y
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const partialEscape = /(?:\\(?:u[0-9a-fA-F]{0,3})?)?/y
// What follows the longest number is read as the next token: a point or sign there is the error.
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const partialScalar = /(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-)?/y

/** Where a JSON grammar walk over `bytes` fails; their length when only something is missing at the end. */
export function syntaxErrorOffset(bytes: Buffer): number {
  // One character a byte: positions are byte offsets.
  const text = bytes.toString('latin1')
  const closingBrackets: string[] = []
  let expect: Expectation = 'value'
  let at = 0
  for (;;) {
    at = endOf(whiteSpace, text, at)
    const first = text[at]
    const isAfterValue = expect === 'commaOrEnd'
    if (first === undefined || expect === 'end') return at
    if (expect === 'colon') {
      if (first !== ':') return at
      at++
      expect = 'value'
    } else if (isAfterValue && first === ',') {
      at++
      expect = closingBrackets.at(-1) === '}' ? 'key' : 'value'
    } else if (expect.endsWith('OrEnd') && first === closingBrackets.at(-1)) {
      at++
      closingBrackets.pop()
      expect = closingBrackets.length === 0 ? 'end' : 'commaOrEnd'
    } else if (isAfterValue || (expect.startsWith('key') && first !== '"')) {
      return at
    } else if (first === '{' || first === '[') {
      at++
      closingBrackets.push(first === '{' ? '}' : ']')
      expect = first === '{' ? 'keyOrEnd' : 'valueOrEnd'
    } else {
      const token = first === '"' ? readString(text, at) : readScalar(text, at)
      if (!token.isComplete) return token.end
      at = token.end
      expect = expect.startsWith('key') ? 'colon' : closingBrackets.length === 0 ? 'end' : 'commaOrEnd'
    }
  }
}

/** A token up to its end, or up to the first character that is wrong. */
interface Token {
  readonly isComplete: boolean
  readonly end: number
}

function readString(text: string, from: number): Token {
  for (let at = from + 1; ;) {
    at = endOf(plainCharacters, text, at)
    if (text[at] === '"') return { isComplete: true, end: at + 1 }
    const end = endOf(escapeSequence, text, at)
    if (end < 0) return { isComplete: false, end: endOf(partialEscape, text, at) }
    at = end
  }
}

function readScalar(text: string, from: number): Token {
  const end = endOf(scalar, text, from)
  return end < 0 ? { isComplete: false, end: endOf(partialScalar, text, from) } : { isComplete: true, end }
}

/** The end of a sticky form that begins at `from`; -1 if it does not match. */
function endOf(form: RegExp, text: string, from: number): number {
  form.lastIndex = from
  return form.test(text) ? form.lastIndex : -1
}
