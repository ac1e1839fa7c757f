/**
 * Finds the rows of `candidates` in a cycle body as byte ranges. Walks a body that is known to be valid JSON, so it
 * looks at brackets, quotes and colons only.
 */
import { closingQuote } from './json-bounds.js'

export interface RowSlices {
  readonly rowStart: Uint32Array
  readonly rowEnd: Uint32Array
}

const quote = 0x22

/** Byte ranges of the objects in the list `member` of the top-level object; of two such members the last counts. */
export function sliceRows(body: Buffer, member: string): RowSlices {
  const starts: number[] = []
  const ends: number[] = []
  let depth = 0
  let inList = false
  let name = ''
  let expectName = true
  for (let at = 0; at < body.length; at++) {
    switch (body[at]) {
      case quote: {
        const end = closingQuote(body, at)
        if (depth === 1 && expectName) name = memberName(body, at, end)
        at = end
        break
      }
      case 0x3a: // :
        if (depth === 1) expectName = false
        break
      case 0x2c: // ,
        if (depth === 1) expectName = true
        break
      case 0x7b: // {
      case 0x5b: // [
        depth++
        if (depth === 2 && name === member) {
          inList = true
          starts.length = 0
          ends.length = 0
        } else if (depth === 3 && inList) starts.push(at)
        break
      case 0x7d: // }
      case 0x5d: // ]
        if (depth === 3 && inList) ends.push(at + 1)
        else if (depth === 2) inList = false
        depth--
        break
    }
  }
  return { rowStart: Uint32Array.from(starts), rowEnd: Uint32Array.from(ends) }
}

function memberName(body: Buffer, open: number, close: number): string {
  const text = body.toString('utf8', open, close + 1)
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
}
