/**
 * The admin side as `serve` starts it: its token, its address, and what happens where its port is taken.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  adminTokenVariable,
  apiKeyForm,
  apiKeyRule,
  fileKeyOf,
  flagOf,
  type Settings,
} from '../settings/index.js'
import type { StartAdmin } from '../server/index.js'
import { hasPermission, readKeysFile } from './api-keys.js'
import { pathError, writeFileDurably } from './data-directory.js'
import { CommandError, messageOf, UsageError } from './failure.js'
import { packageVersion } from './package-info.js'
import { isLoopback, portProblem } from './port-check.js'
import { historySettingNames, sessionSettingNames } from './models/common.js'
import type { Flags } from './read-settings.js'

const program = fileURLToPath(new URL('./main.js', import.meta.url))
const tokenBytes = 32
/** Of a report or an explanation; the report of 10,000 cycles holds 840 MiB in all. */
const commandHeapMiB = 1024
const ownerOnly = 0o600

export interface AdminToken {
  readonly token: string
  /** null: it came from the environment. */
  readonly file: string | null
  readonly warnings: readonly string[]
}

export interface AdminSideOptions {
  readonly settings: Settings
  readonly token: AdminToken
  /** The default port may be taken: the service then starts without its admin side. */
  readonly isDefaultPort: boolean
  /** The journal keeps what it receives: no secret is printed there. */
  readonly isJournal: boolean
  readonly printMessage: (text: string) => void
  /** Flags with which `serve` was started. */
  readonly flags: Flags
}

export function adminTokenFile(dataDir: string): string {
  return join(dataDir, 'admin-token')
}

/**
 * The token of the environment, else that of the file, which is created where it is missing. Throws a `UsageError` for an
 * invalid token, and for one that is also an API key: the keys of clients do not open the admin side.
 */
export function ensureAdminToken(env: NodeJS.ProcessEnv, settings: Settings): AdminToken {
  const found = tokenOfEnvironment(env) ?? tokenOfFile(settings.dataDir)
  refuseKeyAsToken(found, settings)
  return found
}

/** Throws a `UsageError` for a token that is one of the API keys. */
export function refuseKeyAsToken({ token }: AdminToken, { apiKeys }: Settings): void {
  if (apiKeys.includes(token))
    throw new UsageError('the admin token must not be an API key: clients must not open the admin listener')
}

/** The token that a running server uses; null: there is none yet. Creates nothing. */
export function findAdminToken(env: NodeJS.ProcessEnv, dataDir: string): string | null {
  const found = tokenOfEnvironment(env)
  if (found !== null) return found.token
  const file = adminTokenFile(dataDir)
  return existsSync(file) ? firstToken(file) : null
}

function tokenOfEnvironment(env: NodeJS.ProcessEnv): AdminToken | null {
  const token = env[adminTokenVariable]
  if (!token) return null
  if (!apiKeyForm.test(token)) throw new UsageError(`${adminTokenVariable} must be ${apiKeyRule}`)
  return { token, file: null, warnings: [] }
}

function tokenOfFile(dataDir: string): AdminToken {
  const file = adminTokenFile(dataDir)
  try {
    if (!existsSync(file))
      writeFileDurably(file, `${randomBytes(tokenBytes).toString('base64url')}\n`, ownerOnly)
  } catch (cause) {
    throw pathError(`cannot store the admin token in ${dataDir}`, cause)
  }
  const warnings = hasPermission(file, 0o077)
    ? [`${file} is readable by other users; run: chmod 600 ${file}`]
    : []
  return { token: firstToken(file), file, warnings }
}

function firstToken(file: string): string {
  const [token = ''] = readKeysFile(file)
  return token
}

/** Starts the admin side of a server; null where it is off or the default port is taken. */
export function adminSide(options: AdminSideOptions): StartAdmin {
  const { settings, token, isDefaultPort, isJournal, printMessage, flags } = options
  return async (sources) => {
    const { adminHost: host, adminPort: port } = settings
    if (port === 'off') return null
    // Imported late: other commands do not load it.
    const { startAdmin } = await import('../admin/index.js')
    try {
      const admin = await startAdmin(sources, {
        ...{ host, port, token: token.token, version: packageVersion() },
        tls: () => tlsOf(sources.settings()),
        startCommand: (args, options, ended) => {
          // Inherited, from which the secrets are removed. NODE_OPTIONS may load an OpenTelemetry SDK into the service.
          const env = { ...process.env, NODE_OPTIONS: undefined }
          return execFile(process.execPath, nodeArguments(args, flags), { ...options, env }, ended)
        },
      })
      const scheme = tlsOf(settings) === null ? 'http' : 'https'
      const url = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${admin.port}/`
      sources.log.info({ url }, 'admin listening')
      printMessage(`understudy: admin: ${addressText(url, token, isJournal)}\n`)
      return admin
    } catch (error) {
      const { message, isTaken } = portProblem(error, host, port, 'admin-')
      if (!isTaken || !isDefaultPort) throw new CommandError(message, { cause: error })
      printMessage(`understudy: no admin side: ${message}, or set it to off\n`)
      return null
    }
  }
}

/** The arguments of Node for a command with the settings of the server. */
function nodeArguments([name = '', ...args]: readonly string[], flags: Flags): string[] {
  // The checks of a package read no cycles.
  const names = name === 'models verify' ? sessionSettingNames : historySettingNames
  const own = names.map((setting) => [flagOf(setting), flags[fileKeyOf(setting)]] as const)
  const given = [['--config', flags['config']] as const, ...own].flatMap(([flag, value]) =>
    flag !== null && typeof value === 'string' ? [`${flag}=${value}`] : [],
  )
  return [`--max-old-space-size=${commandHeapMiB}`, program, ...name.split(' '), ...given, ...args]
}

/** TLS needs a name that the certificate has: on this machine alone, plain HTTP suffices. */
export function tlsOf({
  adminHost,
  tlsCertFile,
  tlsKeyFile,
}: Settings): { certFile: string; keyFile: string } | null {
  if (tlsCertFile === undefined || tlsKeyFile === undefined || isLoopback(adminHost)) return null
  return { certFile: tlsCertFile, keyFile: tlsKeyFile }
}

function addressText(url: string, { token, file }: AdminToken, isJournal: boolean): string {
  if (file === null) return `${url} with the token of ${adminTokenVariable}`
  return isJournal ? `${url} with the token in ${file}` : `${url}?token=${encodeURIComponent(token)}`
}

/** Warnings about settings that work but are not secure. */
export function adminWarnings(settings: Settings): string[] {
  const { adminHost, adminPort } = settings
  if (adminPort === 'off' || isLoopback(adminHost) || tlsOf(settings) !== null) return []
  return [`plain HTTP on ${adminHost} sends the admin token unencrypted; set tlsCert and tlsKey`]
}

/** The error of a failed request to the admin listener, on one line. */
export function unreachable(url: string, error: unknown): CommandError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return new CommandError(`no admin listener responds at ${url}: ${messageOf(cause)}`, { cause: error })
}
