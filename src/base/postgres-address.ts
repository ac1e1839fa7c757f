/**
 * Reads the address of a PostgreSQL database: postgres://user:password@host1:5432,host2/database?parameter=value. Every
 * parameter must be known and have a valid value: one that is ignored, such as `ssl_mode=verify-full`, would connect without TLS.
 */

const sslModes = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full'] as const
const channelBindings = ['disable', 'prefer', 'require'] as const

export interface PostgresServer {
  /** As in the address. */
  readonly label: string
  /** A name, an IP address or the directory of a socket; undefined: PGHOST, or this machine. */
  readonly host?: string
  readonly port?: number
}

export interface PostgresAddress {
  readonly servers: readonly PostgresServer[]
  readonly user?: string
  readonly password?: string
  readonly database?: string
  /** All but `disable` use TLS, and all but `no-verify` verify the certificate and the name of the host. */
  readonly sslMode: (typeof sslModes)[number]
  readonly sslRootCert?: string
  readonly sslCert?: string
  readonly sslKey?: string
  readonly channelBinding: (typeof channelBindings)[number]
}

const parameterNames = ['host', 'port', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'channel_binding']

/** What is wrong with an address, without a part of it that may be secret. */
export class AddressProblem extends Error {}

const malformed =
  'it is no postgres:// address with valid hosts, ports and database; special characters of a password must be percent-encoded'

/** `sslModeDefault`: PGSSLMODE. Throws an `AddressProblem`. */
export function readPostgresAddress(
  text: string,
  sslModeDefault = process.env['PGSSLMODE'] ?? '',
): PostgresAddress {
  const parts = /^postgres(?:ql)?:\/\/(?:([^/?@]*)@)?([^/?@]*)(?:\/([^/?@]*))?(?:\?([^@]*))?$/.exec(text)
  if (parts === null) throw new AddressProblem(malformed)
  const [, login = '', hosts = '', database = '', query = ''] = parts
  const parameters = readParameters(query)
  const [user = '', ...password] = login.split(':')
  const sslMode = wordOf('sslmode', parameters.get('sslmode') ?? (sslModeDefault || 'disable'), sslModes)
  const channelBinding = wordOf(
    'channel_binding',
    parameters.get('channel_binding') ?? 'disable',
    channelBindings,
  )
  if (channelBinding === 'require' && sslMode === 'disable')
    throw new AddressProblem('channel_binding=require needs TLS, with sslmode=verify-full')
  const files = ['sslrootcert', 'sslcert', 'sslkey'].map((name) => parameters.get(name))
  if (sslMode === 'disable' && files.some((file) => file !== undefined))
    throw new AddressProblem('certificates need TLS, with sslmode=verify-full')
  const [sslRootCert, sslCert, sslKey] = files
  if ((sslCert === undefined) !== (sslKey === undefined))
    throw new AddressProblem('sslcert and sslkey are used together')
  return {
    servers: readServers(hosts, parameters),
    ...defined({ user: decoded(user), password: decoded(password.join(':')), database: decoded(database) }),
    ...defined({ sslRootCert, sslCert, sslKey }),
    sslMode,
    channelBinding,
  }
}

function readParameters(query: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const part of query.split('&').filter((each) => each !== '')) {
    const [name = '', ...rest] = part.split('=')
    const value = decoded(rest.join('='))
    if (!parameterNames.includes(name)) {
      const shown = /^[A-Za-z_]{1,40}$/.test(name) ? name : 'that it has'
      throw new AddressProblem(
        `the parameter ${shown} is unknown; the known ones are ${parameterNames.join(', ')}`,
      )
    }
    if (value === '') throw new AddressProblem(`the parameter ${name} has no value`)
    if (parameters.has(name)) throw new AddressProblem(`the parameter ${name} is there twice`)
    parameters.set(name, value)
  }
  return parameters
}

function readServers(hosts: string, parameters: ReadonlyMap<string, string>): PostgresServer[] {
  const [host, port] = [parameters.get('host'), parameters.get('port')]
  if (host === undefined && port === undefined) return hosts.split(',').map(readServer)
  if (hosts !== '') throw new AddressProblem('hosts stand before the database or in parameters, not in both')
  return [
    { label: host ?? 'localhost', ...defined({ host, port: port === undefined ? port : portOf(port) }) },
  ]
}

function readServer(label: string, _index: number, all: readonly string[]): PostgresServer {
  if (label === '' && all.length === 1) return { label: 'localhost' }
  const parts = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._%-]+)(?::(.*))?$/.exec(label)
  if (parts === null) throw new AddressProblem(malformed)
  const [, host = '', port] = parts
  return {
    label,
    host: decoded(host.replace(/^\[|\]$/g, '')),
    ...defined({ port: port === undefined ? port : portOf(port) }),
  }
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN
  if (!(port >= 1 && port <= 65_535)) throw new AddressProblem(malformed)
  return port
}

function wordOf<Word extends string>(name: string, value: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === value)
  if (word === undefined) throw new AddressProblem(`${name} must be one of ${words.join(', ')}`)
  return word
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new AddressProblem(malformed)
  }
}

/** Without members that have no value. */
function defined<Value>(members: Record<string, Value | undefined>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== ''),
  ) as Record<string, Value>
}
