/**
 * Editors and shells of Windows write a byte order mark, or UTF-16. No parser of this program takes them, and the error of
 * a parser does not show an invisible character.
 */

const marks = [
  [[0xef, 0xbb, 0xbf], 'starts with a byte order mark (BOM): save it as UTF-8 without BOM'],
  [[0xff, 0xfe], 'is in UTF-16: save it as UTF-8 without BOM'],
  [[0xfe, 0xff], 'is in UTF-16: save it as UTF-8 without BOM'],
] as const

/** What a text file starts with that it must not, and the remedy; null: nothing. */
export function encodingProblem(bytes: Uint8Array): string | null {
  const match = marks.find(([mark]) => mark.every((byte, index) => bytes[index] === byte))
  return match === undefined ? null : match[1]
}
