/**
 * Texts of clients in messages: cut to a length, and always Unicode text.
 */

/**
 * At most `charsMax` UTF-16 code units of `text`, with `…` if it has more. No surrogate pair is cut in half, and half a pair of
 * the text itself becomes U+FFFD: JSON could only escape it, and strict parsers refuse such JSON as a whole.
 */
export function clipText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text.toWellFormed()
  const isCut = (text.codePointAt(charsMax - 1) ?? 0) > 0xffff
  return `${text.slice(0, isCut ? charsMax - 1 : charsMax).toWellFormed()}…`
}
