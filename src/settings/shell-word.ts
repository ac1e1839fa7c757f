/**
 * Quotes text for a command line that a user copies into a POSIX shell.
 */

/** `text` as one word: unchanged if it has no special characters, otherwise in single quotes. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
