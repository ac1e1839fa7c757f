/**
 * The form in which searches compare texts: without regard to case, width and normalization, so that titles that were pasted in decomposed
 * Hangul (NFD, as macOS writes names of files) or in full-width letters are found by what an operator types.
 */

/** Letters of Hangul that stand alone, as in ㅋㅋㅠㅠ: NFKC would make syllables of them, and a search for ㅠㅠ would not find this one. */
const looseJamo = /[\u3131-\u318e]+/
const parts = /[\u3131-\u318e]+|[^\u3131-\u318e]+/g

export function searchText(text: string): string {
  const folded = looseJamo.test(text)
    ? text.replace(parts, (part) => (looseJamo.test(part) ? part : part.normalize('NFKC')))
    : text.normalize('NFKC')
  // Upper case has one form where lower case has two: σ and ς, ß and ss.
  return folded.toUpperCase()
}
