/**
 * The text of a post's HTML for reading, as a string: tags go, some end a line, the common entities are replaced. Nothing is
 * interpreted; the result is only ever a text node, so a mistake here shows odd text and does no harm. The patterns stop at the
 * next `<`: one that runs to the end of the text from each of them would freeze the page.
 */

const lineEnds = /<\/?(?:br|p|div|li|tr|h[1-6]|blockquote|ul|ol|table)\b[^<>]*>/gi
const hidden = /<(script|style)\b[^]*?(?:<\/\1\s*>|$)/gi
const tags = /<\/?[a-z!][^<>]*>/gi
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

export function plainText(html: string): string {
  return html
    .replace(hidden, '')
    .replace(lineEnds, '\n')
    .replace(tags, '')
    .replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,4});/gi, characterOf)
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** `&lt;`, `&#60;` and `&#x3c;` as `<`; others stay. */
function characterOf(reference: string): string {
  const name = reference.slice(1, -1).toLowerCase()
  if (!name.startsWith('#')) return entities[name] ?? reference
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : reference
}
