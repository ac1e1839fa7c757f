/**
 * The admin listener as `serve` starts it: its token, its address, and what happens if its port is in use.
 */
import { fstatSync } from 'node:fs'
import { workerStarter } from '../../history/index.js'
import {
  adminTokenVariable,
  apiKeyPattern,
  apiKeyRule,
  authorityOf,
  isLoopback,
  type Settings,
} from '../../settings/index.js'
import type { StartAdmin } from '../../server/index.js'
import { ensureGeneratedKey, findGeneratedKeys } from '../settings/api-keys.js'
import { CommandError, UsageError } from '../failure.js'
import { packageVersion } from '../package-info.js'
import { portProblem } from './port-check.js'

export interface AdminToken {
  readonly token: string
  /** null: it came from the environment. */
  readonly file: string | null
}

export interface AdminListenerOptions {
  readonly settings: Settings
  readonly token: AdminToken
  /** The default port may be in use: the service then starts without its admin listener. */
  readonly isDefaultPort: boolean
  readonly env: NodeJS.ProcessEnv
  readonly printMessage: (text: string) => void
}

/**
 * The token of the environment, else that of the file, which is created if it is missing. Throws a `UsageError` for an
 * invalid token, and for one that is also an API key: the keys of clients do not open the admin listener.
 */
export function ensureAdminToken(env: NodeJS.ProcessEnv, settings: Settings): AdminToken {
  const token = tokenOfEnvironment(env)
  const adminToken = token === null ? tokenOfFile(settings.dataDir) : { token, file: null }
  refuseKeyAsToken(adminToken, settings)
  return adminToken
}

/** Throws a `UsageError` for a token that is one of the API keys. */
export function refuseKeyAsToken({ token }: AdminToken, { apiKeys }: Settings): void {
  if (apiKeys.includes(token))
    throw new UsageError('the admin token must not be an API key: clients must not open the admin listener')
}

/** The token that a running server uses; null: there is none yet. Creates nothing. */
export function findAdminToken(env: NodeJS.ProcessEnv, dataDir: string): string | null {
  return tokenOfEnvironment(env) ?? findGeneratedKeys(dataDir, 'admin-token')[0] ?? null
}

function tokenOfEnvironment(env: NodeJS.ProcessEnv): string | null {
  const token = env[adminTokenVariable]
  if (!token) return null
  if (!apiKeyPattern.test(token)) throw new UsageError(`${adminTokenVariable} must be ${apiKeyRule}`)
  return token
}

function tokenOfFile(dataDir: string): AdminToken {
  const { keys, file } = ensureGeneratedKey(dataDir, 'admin-token')
  const [token = ''] = keys
  return { token, file }
}

/** Starts the admin listener of a server; null if it is off or the default port is in use. */
export function adminStarter(options: AdminListenerOptions): StartAdmin {
  const { settings, token, isDefaultPort, env, printMessage } = options
  return async (sources) => {
    const { adminHost: host, adminPort: port } = settings
    if (port === 'off') return null
    // Imported late: other commands do not load it.
    const { startAdmin } = await import('../../admin/index.js')
    try {
      const admin = await startAdmin(sources, {
        host,
        port,
        token: token.token,
        version: packageVersion(),
        tls: () => tlsOf(sources.settings()),
        startWorker: workerStarter(settings),
      })
      const scheme = tlsOf(settings) === null ? 'http' : 'https'
      const url = `${scheme}://${authorityOf(host, admin.port)}/`
      sources.log.info({ url }, 'admin listening')
      printMessage(`understudy: admin: ${addressText(url, token, env)}\n`)
      return admin
    } catch (error) {
      const { message, isTaken } = portProblem(error, host, port, 'admin-')
      if (!isTaken || !isDefaultPort) throw new CommandError(message, { cause: error })
      printMessage(`understudy: no admin listener: ${message}, or set adminPort to off\n`)
      return null
    }
  }
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

/** The journal keeps what it receives: no secret is printed there. */
function addressText(url: string, { token, file }: AdminToken, env: NodeJS.ProcessEnv): string {
  if (file === null) return `${url} with the token of ${adminTokenVariable}`
  return isJournalStream(env['JOURNAL_STREAM'])
    ? `${url} with the token in ${file}`
    : `${url}?token=${encodeURIComponent(token)}`
}

/** Warnings about settings that work but are not secure. */
export function adminWarnings(settings: Settings): string[] {
  const { adminHost, adminPort } = settings
  if (adminPort === 'off' || isLoopback(adminHost) || tlsOf(settings) !== null) return []
  return [`plain HTTP on ${adminHost} sends the admin token unencrypted; set tlsCert and tlsKey`]
}

/**
 * Whether standard error is the journal. systemd.exec(5): the variable has the device and inode of the stream that systemd
 * opened. A process that inherits the variable may have redirected its output.
 */
function isJournalStream(value: string | undefined): boolean {
  if (value === undefined) return false
  const { dev, ino } = fstatSync(2, { bigint: true })
  return value === `${dev}:${ino}`
}
