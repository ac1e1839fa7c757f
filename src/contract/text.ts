/**
 * The length of a text in characters, which are code points: as a JSON schema counts them, and unlike `length`, which
 * counts UTF-16 units.
 */

/** Whether a text has at most `charsMax` characters. Takes constant time for a text that is far too long. */
export function isWithinChars(text: string, charsMax: number): boolean {
  if (text.length <= charsMax) return true
  return text.length <= 2 * charsMax && Array.from(text).length <= charsMax
}
