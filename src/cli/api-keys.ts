/**
 * API keys: read from files, generated where none is configured, and shown only by fingerprint.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createDataDirectory, pathError, writeFileDurably } from './data-directory.js'
import { messageOf, UsageError } from './failure.js'
import { apiKeyForm, apiKeyRule } from '../settings/index.js'

const keyBytes = 32
const ownerOnly = 0o600
const fingerprintChars = 12

export interface GeneratedKeys {
  /** At least one. */
  readonly keys: readonly string[]
  readonly file: string
  readonly created: boolean
  readonly warnings: readonly string[]
}

/** The file with the generated key of a server without configured keys. An operator may add keys to it. */
export function generatedKeyFile(dataDir: string): string {
  return join(dataDir, 'api-key')
}

/**
 * The keys of a server without configured keys: one is generated at the first start. Throws where the file exists and
 * cannot be read or has no key: a new key would lock out the clients.
 */
export function ensureGeneratedKey(dataDir: string): GeneratedKeys {
  const file = generatedKeyFile(dataDir)
  const created = createKeyFile(dataDir, file)
  const keys = readKeysFile(file)
  const warnings = hasPermission(file, 0o077)
    ? [`${file} is readable by other users; run: chmod 600 ${file}`]
    : []
  return { keys, file, created, warnings }
}

/**
 * The keys in the file of the generated key; empty where the file does not exist. Throws a `UsageError` where it has no
 * valid key, and where it cannot be read.
 */
export function findGeneratedKeys(dataDir: string): readonly string[] {
  const file = generatedKeyFile(dataDir)
  return isMissing(file) ? [] : readKeysFile(file)
}

/**
 * The keys in a file, one per line or separated by commas. Throws a `UsageError` where there is none or an invalid one;
 * `name` names the file in its message.
 */
export function readKeysFile(file: string, name = file): string[] {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (cause) {
    const isDenied = cause instanceof Error && 'code' in cause && cause.code === 'EACCES'
    const remedy = isDenied ? '; run this command as the user of the server, or set UNDERSTUDY_API_KEYS' : ''
    throw new UsageError(`${name} cannot be read: ${messageOf(cause)}${remedy}`)
  }
  const keys = content.split(/[\n,]/).map((key) => key.trim())
  const given = [...new Set(keys.filter((key) => key !== ''))]
  // The invalid key is not shown: it may be a valid one with a typing error.
  if (given.length === 0) throw new UsageError(`${name} contains no API key`)
  if (!given.every((key) => apiKeyForm.test(key))) {
    throw new UsageError(`a key in ${name} is not valid: it must be ${apiKeyRule}`)
  }
  return given
}

/** False where the directory may not be searched: reading the file then gives the reason. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}

/** Whether any of the permission bits `mask` of a file is set; false where the file cannot be examined. */
export function hasPermission(file: string, mask: number): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode
  return mode !== undefined && (mode & mask) !== 0
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
    throw pathError(`cannot store an API key in ${dataDir}`, cause)
  }
}
