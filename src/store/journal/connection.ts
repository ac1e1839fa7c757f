/**
 * One connection to the primary of the journal's PostgreSQL. A statement succeeds only if the server confirms it without a
 * warning: a COMMIT whose wait for a standby is cancelled ends with warning 01000, and is not durable. After an error that
 * leaves open what the statement did, the connection is dropped; nothing is ever cancelled.
 */
import type { Client, ClientConfig } from 'pg'
import type { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  AddressProblem,
  firstLineOf,
  readPostgresAddress,
  type PostgresAddress,
  type PostgresServer,
} from '../../base/index.js'
import { StoreError } from '../store-error.js'
import { Refusal } from './journal.js'

/** A row by column: 64-bit integers, numerics and uuids are text. */
export type Row = Readonly<Record<string, string | number | boolean | Buffer | Date | null>>

const connectMsMax = 5000
const successCode = '00000'
const serverVersionMin = 150_000

/** What is known of a SQLSTATE beyond the server's message. */
const remedies = new Map([
  ['23505', '; no commit has written this row: remove it, or restore the journal from a backup'],
  ['42501', '; the user of the journal must own the database'],
  ['55P03', ': an earlier commit still waits for a PostgreSQL standby'],
])

/** Classes of SQLSTATE that end a statement before it can commit, and whether all statements of its kind end so. */
const refusals = new Map([
  // Data.
  ['22', false],
  // Constraints.
  ['23', false],
  // Rights, missing tables.
  ['42', true],
])

/** A statement did not end with a clean confirmation: it may or may not have been committed. */
export class UnknownOutcome extends StoreError {
  /** SQLSTATE of the server, if it reported one. */
  readonly state: string | null

  constructor(reason: unknown) {
    super('failed', `the journal did not confirm: ${problemOf(reason)}`, { cause: reason })
    this.state = stateOf(reason)
  }
}

function stateOf(reason: unknown): string | null {
  return reason instanceof Error && 'code' in reason ? String(reason.code) : null
}

function tableOf(reason: unknown): string | null {
  return reason instanceof Error && 'table' in reason ? String(reason.table) : null
}

function problemOf(reason: unknown): string {
  const state = stateOf(reason) ?? ''
  // The detail of other errors has values of a row.
  const isDuplicate = state === '23505' && reason instanceof Error && 'detail' in reason
  const detail = isDuplicate ? ` (${String(reason.detail)})` : ''
  return `${firstLineOf(reason)}${detail}${remedies.get(state) ?? ''}`
}

export interface ConnectionOptions {
  /** Time limit of a statement. */
  readonly msMax: number
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  /** Index of the server that is tried first. Default: 0. */
  readonly first?: number
}

/** A server of the address, as `understudy journal status` shows it. */
export interface JournalServer {
  readonly address: string
  /** What it is, or why it cannot be reached. */
  readonly state: string
}

export class JournalConnection {
  /** Index of its server in the address. */
  readonly server: number
  readonly #client: Client
  readonly #msMax: number
  #warning: Error | null = null
  #failure: UnknownOutcome | null = null

  private constructor(client: Client, server: number, msMax: number) {
    this.server = server
    this.#client = client
    this.#msMax = msMax
    client.on('notice', (notice) => {
      if (notice.code !== successCode) this.#warning = new Error(`warning ${notice.code}: ${notice.message}`)
    })
    client.on('error', (error) => this.drop(error))
  }

  /**
   * Connects to the first server of `url` that is not a standby. `url`: postgres://user@host1:5432,host2:5432/database. Rejects
   * with a StoreError that names no password.
   */
  static async open(url: string, options: ConnectionOptions): Promise<JournalConnection> {
    const problems: string[] = []
    const address = readAddress(url)
    const { servers } = address
    for (let i = 0; i < servers.length; i++) {
      const index = (i + (options.first ?? 0)) % servers.length
      try {
        return await JournalConnection.#openServer(address, index, options)
      } catch (error) {
        problems.push(`${servers[index]!.label}: ${firstLineOf(error)}`)
      }
    }
    throw new StoreError('failed', `the journal cannot be reached: ${problems.join('; ')}`)
  }

  /** Queries the role of each server in `url`. */
  static servers(url: string, options: ConnectionOptions): Promise<JournalServer[]> {
    const read = readAddress(url)
    return Promise.all(
      read.servers.map(async ({ label: address }, index) => {
        try {
          const connection = await JournalConnection.#openServer(read, index, options)
          const [row] = await connection.query(
            `select ('x' || substring(pg_walfile_name(pg_current_wal_lsn()) for 8))::bit(32)::int as timeline`,
          )
          connection.close()
          return { address, state: `primary, timeline ${String(row?.['timeline'])}` }
        } catch (error) {
          return { address, state: firstLineOf(error instanceof UnknownOutcome ? error.cause : error) }
        }
      }),
    )
  }

  static async #openServer(
    address: PostgresAddress,
    index: number,
    { msMax, applicationName }: ConnectionOptions,
  ): Promise<JournalConnection> {
    // Only processes with a journal load it.
    const { Client: PostgresClient } = await import('pg')
    const client = new PostgresClient({
      ...configOf(address, address.servers[index]!),
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: connectMsMax,
      application_name: applicationName,
    } satisfies ClientConfig)
    const connection = new JournalConnection(client, index, msMax)
    const checkBinding = address.channelBinding === 'require' ? connection.#requireChannelBinding() : null
    try {
      await client.connect()
      checkBinding?.()
      await connection.#checkServer()
      return connection
    } catch (error) {
      const { cause } = connection.drop(error)
      throw cause instanceof StoreError ? cause : error
    }
  }

  /**
   * Drops the connection before a password is sent in another way than bound to the TLS connection, which a server in the middle
   * cannot pass on. To be called before it connects; what it returns, after that.
   */
  #requireChannelBinding(): () => void {
    let isBound = false
    const refuse = (): void => {
      this.drop(new StoreError('unusable', 'the server did not ask for a password with channel binding'))
    }
    const { connection } = this.#client as unknown as { connection: EventEmitter }
    connection.on('authenticationCleartextPassword', refuse)
    connection.on('authenticationMD5Password', refuse)
    connection.on('authenticationSASL', ({ mechanisms }: { mechanisms: readonly string[] }) => {
      isBound = mechanisms.includes('SCRAM-SHA-256-PLUS')
      if (!isBound) refuse()
    })
    return () => {
      if (!isBound) refuse()
      if (this.#failure !== null) throw this.#failure
    }
  }

  /** Throws if the server cannot be used. */
  async #checkServer(): Promise<void> {
    const [server] = await this.query(
      `select pg_is_in_recovery() as standby, current_setting('server_version_num') as version, pg_backend_pid() as process,
         (select setting::integer from pg_settings where name = 'statement_timeout') as "statementMsMax"`,
    )
    if (server?.['standby'] === true) throw new StoreError('failed', 'the server is a standby')
    if (Number(server?.['version']) < serverVersionMin)
      throw new StoreError('unusable', 'the server is older than PostgreSQL 15')
    const statementMsMax = Number(server?.['statementMsMax'])
    if (statementMsMax === 0) return
    // PgBouncer has a number of its own; a setting of the session would not stay with this connection, but with others.
    const isPooled = server?.['process'] !== (this.#client as unknown as { processID: number }).processID
    if (!isPooled) await this.query(`set statement_timeout = 0`)
    else if (statementMsMax < this.#msMax)
      throw new StoreError(
        'unusable',
        `statement_timeout is ${statementMsMax} ms behind PgBouncer; run: alter role USER set statement_timeout = 0`,
      )
  }

  /** False once it is dropped. */
  get isOpen(): boolean {
    return this.#failure === null
  }

  /** Whether a transaction has begun that has not ended. */
  get isInTransaction(): boolean {
    return this.#client.getTransactionStatus() !== 'I'
  }

  /**
   * Runs a statement; one that changes something is committed when the promise resolves. Rejects with a `Refusal`, or with
   * `UnknownOutcome`, and the connection is then dropped. One at a time. `msMax`: a longer time limit than that of the others.
   */
  async query(
    text: string,
    values: readonly unknown[] = [],
    msMax: number = this.#msMax,
  ): Promise<readonly Row[]> {
    if (this.#failure !== null) throw this.#failure
    this.#warning = null
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`no response within ${msMax} ms; a commit may wait for a PostgreSQL standby`)),
        msMax,
      )
    })
    const response = this.#client.query<Row>(text, values as unknown[])
    // After the time limit nobody waits for it.
    response.catch(() => undefined)
    try {
      const { rows } = await Promise.race([response, limit])
      this.#throwWarning()
      return rows
    } catch (error) {
      const state = stateOf(error) ?? ''
      const isOfItsKind = refusals.get(state.slice(0, 2))
      if (isOfItsKind === undefined) throw this.drop(error)
      // Each commit would take the number of such a row.
      const isOfAllWrites = isOfItsKind || tableOf(error) === 'entry'
      throw new Refusal(`the journal refused a statement: ${problemOf(error)}`, isOfAllWrites, error)
    } finally {
      clearTimeout(timer)
    }
  }

  #throwWarning(): void {
    if (this.#warning !== null) throw this.#warning
  }

  /** Closes the connection immediately. What is in progress has an unknown outcome. */
  drop(reason: unknown): UnknownOutcome {
    this.#failure ??= reason instanceof UnknownOutcome ? reason : new UnknownOutcome(reason)
    const { connection } = this.#client as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
    return this.#failure
  }

  /** Closes the connection. A statement in progress has an unknown outcome. */
  close(): void {
    this.drop(new Error('the connection is closed'))
  }
}

/** Throws a StoreError that repeats nothing of the address. */
function readAddress(url: string): PostgresAddress {
  try {
    return readPostgresAddress(url)
  } catch (error) {
    if (error instanceof AddressProblem)
      throw new StoreError('unusable', `the address of the journal cannot be used: ${error.message}`)
    throw error
  }
}

/** How one server of an address is connected to. The files of certificates are read again each time: they are renewed. */
function configOf(address: PostgresAddress, { host, port }: PostgresServer): ClientConfig {
  const { user, password, database, sslMode, sslRootCert, sslCert, sslKey, channelBinding } = address
  const ssl = {
    rejectUnauthorized: sslMode !== 'no-verify',
    // As libpq has it: the certificates that the system trusts.
    ...(sslRootCert === undefined || sslRootCert === 'system'
      ? {}
      : { ca: readPem('sslrootcert', sslRootCert) }),
    ...(sslCert === undefined ? {} : { cert: readPem('sslcert', sslCert) }),
    ...(sslKey === undefined ? {} : { key: readPem('sslkey', sslKey) }),
  }
  return {
    ...{ host, port, user, password, database },
    ssl: sslMode === 'disable' ? false : ssl,
    enableChannelBinding: channelBinding !== 'disable',
  }
}

function readPem(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new StoreError('unusable', `${parameter} cannot be read: ${firstLineOf(cause)}`, { cause })
  }
}
