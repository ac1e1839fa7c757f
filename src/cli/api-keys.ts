/**
 * API keys: read from files, generated where none is configured, and shown only by fingerprint.
 */
import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { flushDirectory } from '../store/index.js'
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

/** The file with the generated key of a server without configured keys. An operator may add keys to it. */
export function keptKeyFile(dataDir: string): string {
  return join(dataDir, 'api-key')
}

/**
 * The keys of a server without configured keys: one is generated at the first start. Throws where the file exists and
 * cannot be read or holds no key: a new key would lock the clients out.
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
 * The keys in the file of the generated key; empty where the file does not exist. Throws a `UsageError` where it holds no
 * valid key, and where it cannot be read: it may hold keys that this user must not see.
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
 * The keys in a file, one per line or separated by commas. Throws a `UsageError` where there is none or an invalid one;
 * `name` stands for the file in its message.
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
  // The invalid key is not shown: it may be a valid one with a typing error.
  if (given.length === 0) throw new UsageError(`${name} holds no API key`)
  if (!given.every((key) => apiKeyForm.test(key))) {
    throw new UsageError(`a key in ${name} breaks the rule: ${apiKeyRule}`)
  }
  return given
}

/** Whether any of the permission bits `mask` of a file is set; false where the file cannot be examined. */
export function isOpenTo(file: string, mask: number): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode
  return mode !== undefined && (mode & mask) !== 0
}

/** Identifies a key without revealing it. */
export function fingerprintOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, fingerprintChars)
}

/** Creates the file with a new key, unless it exists. Returns true when it was created. */
function makeKeyFile(dataDir: string, file: string): boolean {
  makeDataDirectory(dataDir)
  try {
    if (existsSync(file)) return false
    writeDurably(file, `${randomBytes(keyBytes).toString('base64url')}\n`)
    return true
  } catch (cause) {
    throw pathError(`cannot keep an API key in ${dataDir}`, cause)
  }
}

/** Writes a file that is complete or absent after a power cut, once this returns complete. */
function writeDurably(file: string, content: string): void {
  const partial = `${file}.partial`
  rmSync(partial, { force: true })
  const handle = openSync(partial, 'wx', ownerOnly)
  try {
    writeSync(handle, content)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(partial, file)
  flushDirectory(dirname(file))
}
