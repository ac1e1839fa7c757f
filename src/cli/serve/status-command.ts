/**
 * `understudy status`: the state of a running service on one screen, from its admin listener.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https, { type RequestOptions } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { codeOf, inBackground, minuteMs, sizeText } from '../../base/index.js'
import { reasonOf } from '../../client/index.js'
import { reasonsText, type Now } from '../../contract/index.js'
import { adminTokenVariable, localUrl, type SettingName, type Settings } from '../../settings/index.js'
import { findAdminToken, tlsOf } from './admin-listener.js'
import { addSettingFlags, stopSignal, type CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { kstClock, minutes, percent } from '../text/format.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { formatTable } from '../text/text-table.js'

const settingFlags: readonly SettingName[] = [
  ...(['dataDir', 'adminHost', 'adminPort', 'tlsCertFile', 'tlsKeyFile'] as const),
]
const watchMs = 2000
const responseMsMax = 5000
const clearScreen = '\x1b[H\x1b[2J'

export function addStatusCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('status')
    .description('show the state of the running service; exit code 1 unless it is ready')
    .option('--url <url>', 'base URL of the admin listener (default: from adminHost and adminPort)')
    .option('--json', 'print JSON')
    .option('--watch', 'refresh every two seconds, until Ctrl-C')
  addSettingFlags(command, settingFlags).action((flags: Flags) => status(flags, context))
}

async function status(flags: Flags, context: CommandContext): Promise<void> {
  const { env, print, columns } = context
  const settings = settingsOf(flags, context)
  const address = addressOf(flags, settings)
  const token = findAdminToken(env, settings.dataDir)
  if (token === null)
    throw new UsageError(
      `${settings.dataDir} has no admin token: set --data-dir to the data directory of the service, or set ${adminTokenVariable}`,
    )
  const asText = (now: Now): string =>
    flags['json'] === true ? `${JSON.stringify(now, null, 2)}\n` : statusText(now, columns())
  if (flags['watch'] === true) {
    await watch(async () => asText(await readNow(address, token)), context)
    return
  }
  const now = await readNow(address, token)
  print(asText(now))
  const failed = now.checks.filter((check) => check.status === 'fail')
  if (failed.length > 0)
    throw new CommandError(`not ready: ${failed.map(({ reasons }) => reasonsText(reasons)).join('; ')}`)
}

/** Shows what `read` returns until a signal, or until nobody reads it. An error is shown too: the service may become available again. */
async function watch(
  read: () => Promise<string>,
  { print, columns, readerGone }: CommandContext,
): Promise<void> {
  const stop = new AbortController()
  inBackground(
    'shutdown',
    Promise.race([stopSignal(), readerGone]).then(() => stop.abort()),
  )
  while (!stop.signal.aborted) {
    const text = await read().catch((error: unknown) => {
      if (error instanceof CommandError) return `${error.message}\n`
      throw error
    })
    print(columns() === undefined ? text : `${clearScreen}${text}`)
    await delay(watchMs, undefined, { signal: stop.signal }).catch(() => undefined)
  }
}

interface Address {
  readonly url: string
  /** Its first certificate is the only one that is trusted, in place of the authorities of Node. */
  readonly certFile: string | null
}

function addressOf(flags: Flags, settings: Settings): Address {
  const { adminHost: host, adminPort: port } = settings
  if (typeof flags['url'] === 'string') {
    if (!URL.canParse(flags['url'])) throw new UsageError(`--url must be a URL, not ${flags['url']}`)
    return { url: flags['url'].replace(/\/+$/, ''), certFile: null }
  }
  if (port === 'off') throw new UsageError('adminPort is off: the service has no admin listener')
  if (port === 0) throw new UsageError('adminPort is 0: use --url with the address printed at startup')
  const tls = tlsOf(settings)
  return { url: localUrl(host, port, tls !== null), certFile: tls?.certFile ?? null }
}

async function readNow({ url, certFile }: Address, token: string): Promise<Now> {
  const signal = AbortSignal.timeout(responseMsMax)
  const headers = { Authorization: `Bearer ${token}` }
  try {
    const trust = certFile === null ? {} : trustedOnly(certFile)
    const { status, text } = await get(`${url}/api/now`, { ...trust, agent: false, headers, signal })
    if (status === 200) return JSON.parse(text) as Now
    if (status === 401)
      throw new CommandError(
        `${url} refuses the admin token: set --data-dir to the data directory of that service, or set ${adminTokenVariable}`,
      )
    throw new CommandError(`${url} responds with status ${status}`)
  } catch (error) {
    if (error instanceof CommandError) throw error
    const problem =
      certFile !== null && /CERT|LEAF/.test(codeOf(error))
        ? `${url} must present the certificate of ${certFile}, valid now; after a renewal, send SIGHUP to the service`
        : `no admin listener responds at ${url}`
    throw new CommandError(`${problem}: ${reasonOf(error)}`, { cause: error })
  }
}

/** TLS with the first certificate of the file, whatever its name: no other of the same authority gets the token. */
function trustedOnly(certFile: string): RequestOptions {
  return {
    ca: new X509Certificate(readFileSync(certFile)).toString(),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  }
}

/** Not `fetch`, which takes no certificate authority. */
function get(url: string, options: RequestOptions): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { get } = url.startsWith('https:') ? https : http
    const request = get(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text })).on('error', reject)
    })
    request.on('error', reject)
  })
}

/** One screen. */
export function statusText(now: Now, columns?: number): string {
  const { last_cycle: last, first_scores: first, queue, storage, memory } = now
  const rows = [
    ['status', isLoading(now) ? 'loading' : now.status],
    ['time', kstClock(now.time)],
    ['running since', `${kstClock(now.started_at)}, version ${now.version}`],
    ['model', modelText(now)],
    ['shadows', now.shadows.join(', ') || 'none'],
    ['weights', now.weights_version],
    ['pending posts', String(now.pending)],
    ['last cycle', lastCycleText(now)],
    ['next cycle due', dueText(now)],
    ...(last === null
      ? []
      : [
          ['results', resultsText(last.results)],
          ['stages, ms', stagesText(last.stages_ms)],
          ['missing counters', percent(last.missing_feature_share, 1)],
        ]),
    [
      'first scores, 24 h',
      first.share === null
        ? 'none yet'
        : `${percent(first.share, 1)} in time (target ${percent(first.target)}); late ${first.late}, never ${first.never}, overdue ${first.overdue}`,
    ],
    ['queue', `${queue.cycles} of ${queue.cycles_max} cycles, ${queue.texts} texts, ${queue.images} images`],
    ['storage', `${sizeOf(storage.size_bytes)}, ${sizeOf(storage.free_bytes)} free`],
    ['memory', sizeOf(memory.resident_bytes)],
  ]
  const checks = now.checks.map(({ check, status, reasons }) => [check, status, reasonsText(reasons)])
  const limits = { cellsMax: columns }
  const facts = formatTable(['', ''], rows, { ...limits, column: 1 })
  return `${facts}\n${formatTable(['check', 'status', 'reason'], checks, { ...limits, column: 2 })}`
}

/** Nothing is wrong but that the first model of a new service is not loaded yet. */
function isLoading({ model, loading_version, checks }: Now): boolean {
  const isModelOnly = checks.every(
    ({ check, status: checkStatus }) => checkStatus !== 'fail' || check === 'model',
  )
  return model === null && loading_version !== null && isModelOnly
}

function modelText({ model, loading_version }: Now): string {
  const serving = model === null ? 'none' : `${model.version} (${model.kind}, ${model.provider})`
  return loading_version === null ? serving : `${serving}; ${loading_version} is being loaded`
}

function dueText({ time, next_cycle: next }: Now): string {
  if (next === null) return 'unknown'
  const { due_at, overdue_from } = next
  const isOverdue = overdue_from !== null && Date.parse(time) > Date.parse(overdue_from)
  return `${kstClock(due_at)}${isOverdue ? `, ${spanText(Date.parse(time) - Date.parse(due_at))} overdue` : ''}`
}

/** Such as `75 s` or `12 min`. */
function spanText(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : minutes(ms / minuteMs)
}

function lastCycleText({ last_cycle, last_cycle_id, last_cycle_received_at }: Now): string {
  if (last_cycle_id === null) return 'none'
  const duration = last_cycle === null ? '' : `, ${last_cycle.ms} ms`
  const received = last_cycle_received_at === null ? '' : `, received ${kstClock(last_cycle_received_at)}`
  return `${last_cycle_id}${received}${duration}`
}

function resultsText(results: NonNullable<Now['last_cycle']>['results']): string {
  return results
    .filter(({ count }) => count > 0)
    .map(({ status: name, reason, count }) => `${count} ${reason ?? name}`)
    .join(', ')
}

function stagesText(stages: Readonly<Record<string, number>>): string {
  return Object.entries(stages)
    .map(([stage, ms]) => `${stage} ${ms.toFixed(1)}`)
    .join(', ')
}

function sizeOf(bytes: number | null): string {
  return bytes === null ? 'unknown' : sizeText(bytes)
}
