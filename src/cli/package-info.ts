/**
 * Directory and version of this program. Works from `dist/cli` and from `src/cli`.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Absolute path of the directory with package.json. */
export const packageDirectory = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** `version` of package.json. */
export function packageVersion(): string {
  const description: unknown = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  const hasVersion = typeof description === 'object' && description !== null && 'version' in description
  return hasVersion && typeof description.version === 'string' ? description.version : 'unknown'
}
