/** What is known of anything that was thrown. Browsers load this file too. */

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function firstLineOf(error: unknown): string {
  return messageOf(error).split('\n', 1)[0]!
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** The code of the innermost cause that has one, such as `ECONNREFUSED`; otherwise empty. Browsers have no codes. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return codeOf(error.cause) || ('code' in error && typeof error.code === 'string' ? error.code : '')
}
