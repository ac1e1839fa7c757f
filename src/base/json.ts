/** JSON of unknown origin. Browsers load this file too. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value, or undefined if `json` is not JSON or not UTF-8. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof json === 'string' ? json : new TextDecoder('utf-8', { fatal: true }).decode(json),
    )
  } catch {
    return undefined
  }
}
