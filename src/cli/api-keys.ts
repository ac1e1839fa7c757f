/**
 * Keys of clients: read from files, made where none is configured, and shown by fingerprint only.
 */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { makeDataDirectory, pathError } from './data-directory.js'
import { messageOf, UsageError } from './failure.js'
import { apiKeyForm, apiKeyRule } from './settings-table.js'

const keyBytes = 32
const ownerOnly = 0o600
const fingerprintChars = 12

export interface KeptKeys {
  /** At least one. */
  readonly keys: readonly string[]
  readonly file: string
  readonly made: boolean
  readonly warnings: readonly string[]
}

/** The file in which a service without configured keys keeps the one it made, and others that are added by hand. */
export function keptKeyFile(dataDir: string): string {
  return join(dataDir, 'api-key')
}

/**
 * The keys that a service without configured keys uses: one is made at the first start. Fails where a file is there that
 * cannot be read or holds no key: another key would lock the clients out.
 */
export function ensureKeptKey(dataDir: string): KeptKeys {
  const file = keptKeyFile(dataDir)
  const made = makeKeyFile(dataDir, file)
  const keys = readKeysFile(file)
  const warnings = isOpenTo(file, 0o077)
    ? [`${file} can be read by others than its owner; run: chmod 600 ${file}`]
    : []
  return { keys, file, made, warnings }
}

/**
 * The kept keys; none where there is no such file. Throws a `UsageError` where it holds no good key, and where it
 * cannot be read: there may be one that is only hidden from this user.
 */
export function findKeptKeys(dataDir: string): readonly string[] {
  const file = keptKeyFile(dataDir)
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    const remedy = code === 'EACCES' ? '; run this as the user of the server, or set UNDERSTUDY_API_KEYS' : ''
    throw new UsageError(`${file} cannot be read: ${messageOf(cause)}${remedy}`)
  }
  return keysIn(content, file)
}

/**
 * Keys in a file, one a line or separated by commas. Throws a `UsageError` where there is none or a bad one;
 * `name` is what its message calls the file.
 */
export function readKeysFile(file: string, name = file): string[] {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${name} cannot be read: ${messageOf(cause)}`)
  }
  return keysIn(content, name)
}

function keysIn(content: string, name: string): string[] {
  const keys = content.split(/[\n,]/).map((key) => key.trim())
  const given = [...new Set(keys.filter((key) => key !== ''))]
  // The bad key itself is not shown: it may be a good one with a typing error.
  if (given.length === 0) throw new UsageError(`${name} holds no API key`)
  if (!given.every((key) => apiKeyForm.test(key))) {
    throw new UsageError(`a key in ${name} breaks the rule: ${apiKeyRule}`)
  }
  return given
}

/** Whether the permission bits `mask` of a file are set; false where the file cannot be looked at. */
export function isOpenTo(file: string, mask: number): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode
  return mode !== undefined && (mode & mask) !== 0
}

/** Names a key without giving it away. */
export function fingerprintOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, fingerprintChars)
}

/** Makes the file unless there is one; true when it was made. */
function makeKeyFile(dataDir: string, file: string): boolean {
  makeDataDirectory(dataDir)
  try {
    const handle = openSync(file, 'wx', ownerOnly)
    try {
      writeSync(handle, `${randomBytes(keyBytes).toString('base64url')}\n`)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
    throw pathError(`cannot keep an API key in ${dataDir}`, cause)
  }
}
