/**
 * API keys and the admin token: read from files, generated if none is configured, and shown only by fingerprint.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, writeFileDurably } from '../../base/index.js'
import { createDataDirectory, pathError } from './data-directory.js'
import { encodingProblem, messageLine, UsageError } from '../failure.js'
import { apiKeyPattern, apiKeyRule } from '../../settings/index.js'

const keyBytes = 32
const ownerOnly = 0o600
const fingerprintChars = 12

/** The files of the data directory with generated keys. An operator may add keys to `api-key`. */
export type KeyFileName = 'api-key' | 'admin-token'

export interface GeneratedKeys {
  /** Never empty. */
  readonly keys: readonly string[]
  readonly file: string
  readonly created: boolean
}

/**
 * The keys in a file of the data directory: one is generated at the first start. Throws if the file exists and cannot
 * be read or has no key: a new key would lock out the clients.
 */
export function ensureGeneratedKey(dataDir: string, name: KeyFileName): GeneratedKeys {
  const file = join(dataDir, name)
  const created = createKeyFile(dataDir, file)
  return { keys: readKeysFile(file), file, created }
}

/**
 * The keys in a file of the data directory; empty if the file does not exist. Throws a `UsageError` if it has no
 * valid key, and if it cannot be read.
 */
export function findGeneratedKeys(dataDir: string, name: KeyFileName): readonly string[] {
  const file = join(dataDir, name)
  return isMissing(file) ? [] : readKeysFile(file)
}

/**
 * The keys in a file, one per line or separated by commas. Throws a `UsageError` if there is none or an invalid one;
 * `name` names the file in its message.
 */
export function readKeysFile(file: string, name = file): string[] {
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (cause) {
    const remedy =
      codeOf(cause) === 'EACCES'
        ? '; run this command as the user of the server, or set UNDERSTUDY_API_KEYS'
        : ''
    throw new UsageError(`${name} cannot be read: ${messageLine(cause)}${remedy}`)
  }
  const keys = content
    .toString()
    .split(/[\n,]/)
    .map((key) => key.trim())
  const given = [...new Set(keys.filter((key) => key !== ''))]
  // The invalid key is not shown: it may be a valid one with a typing error.
  if (given.length === 0) throw new UsageError(`${name} contains no API key`)
  if (!given.every((key) => apiKeyPattern.test(key))) {
    const encoding = encodingProblem(content)
    if (encoding !== null) throw new UsageError(`${name} ${encoding}`)
    throw new UsageError(`a key in ${name} is not valid: it must be ${apiKeyRule}`)
  }
  return given
}

/** False if the directory may not be searched: reading the file then gives the reason. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}

/** Identifies a key without revealing it. */
export function fingerprintOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, fingerprintChars)
}

/** Creates the file with a new key, unless it exists. Returns true when it was created. */
function createKeyFile(dataDir: string, file: string): boolean {
  createDataDirectory(dataDir)
  try {
    if (existsSync(file)) return false
    writeFileDurably(file, `${randomBytes(keyBytes).toString('base64url')}\n`, ownerOnly)
    return true
  } catch (cause) {
    throw pathError(`cannot create ${file}`, cause)
  }
}
