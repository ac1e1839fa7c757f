/**
 * Text for a command line that is printed to be copied into a POSIX shell.
 */

/** `text` as one word of it: as it is where a shell leaves that alone, else in single quotes. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
