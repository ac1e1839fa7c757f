/**
 * The version of this program. Works from `dist/cli` and from `src/cli`.
 */
import { readFileSync } from 'node:fs'

/** `version` of package.json. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
