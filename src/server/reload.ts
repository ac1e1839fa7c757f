/**
 * Settings that are read again while the server runs. What may change without a restart is taken over, all of it or
 * nothing; the rest is named. A setting that is added must be given its place here, or this file does not compile.
 */
import type { ImageGate } from '../images/index.js'
import type { ModelLog } from '../model/index.js'
import type { ApiKeys } from './api-keys.js'
import type { BodyBudget } from './body-budget.js'
import { isoTime } from './certificate-dates.js'
import type { Connections } from './connections.js'
import type { HttpListener } from './http-listener.js'
import type { Settings } from './settings.js'
import { limitPerAddress } from './http-shim.js'

export type SettingKey = keyof Settings

/** When a change takes effect. A certificate: at once, unless TLS is turned on or off. */
const effect: Readonly<Record<SettingKey, 'at once' | 'certificate' | 'restart'>> = {
  host: 'restart',
  port: 'restart',
  dataDir: 'restart',
  modelsDir: 'restart',
  apiKeys: 'at once',
  tlsCertFile: 'certificate',
  tlsKeyFile: 'certificate',
  clockSkewMs: 'at once',
  cyclesWaitingMax: 'at once',
  connectionsMax: 'at once',
  connectionsPerAddressMax: 'at once',
  trustedProxyCount: 'at once',
  wrongKeysPerMinuteMax: 'at once',
  wrongKeyDelayMs: 'at once',
  bodyReadMsMax: 'at once',
  shutdownMsMax: 'at once',
  executionProviders: 'restart',
  intraOpThreads: 'restart',
  priorityLead: 'restart',
  predictMsMax: 'restart',
  bodiesBytesMax: 'at once',
  imagesWaitingBytesMax: 'at once',
  imageConcurrency: 'at once',
  retainCyclesDays: 'at once',
  retainImagesDays: 'at once',
  retainOutcomesDays: 'at once',
  logLevel: 'at once',
  codec: 'restart',
  stageReport: 'restart',
  initialWeights: 'restart',
  modelProcessBytesMax: 'restart',
  textEncodeMsMax: 'restart',
}
const keys = Object.keys(effect) as SettingKey[]

export interface SettingsChange {
  /** Frozen: `now` with what of `wanted` may be taken over. */
  readonly next: Settings
  readonly taken: readonly SettingKey[]
  /** What differs and needs a restart. */
  readonly left: readonly SettingKey[]
}

/** What of `wanted` a server that runs with `now` can take over. */
export function changeOf(now: Settings, wanted: Settings): SettingsChange {
  const changed = keys.filter((key) => JSON.stringify(now[key]) !== JSON.stringify(wanted[key]))
  const secured = (settings: Settings): boolean => settings.tlsCertFile !== undefined
  const taken = changed.filter((key) =>
    effect[key] === 'certificate' ? secured(now) && secured(wanted) : effect[key] === 'at once',
  )
  const left = changed.filter((key) => !taken.includes(key))
  const next = { ...now, ...Object.fromEntries(taken.map((key) => [key, wanted[key]])) }
  return { next: Object.freeze(next), taken, left }
}

/** What holds values of settings, and so must be told. The rest asks `settings` each time. */
export interface ReloadParts {
  readonly settings: { current: Settings }
  readonly apiKeys: ApiKeys
  readonly bodies: BodyBudget
  readonly imageGate: ImageGate
  readonly connections: Connections
  readonly listener: HttpListener
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly log: ModelLog & { level: string }
}

export interface ReloadRequest {
  /** Reads the settings as a start would. Throws an `Error` whose message says in one line what is wrong with them. */
  readonly read: () => Settings
  /** What an operator calls a setting. */
  readonly nameOf: (key: SettingKey) => string
}

/** Reads settings and takes over what may change, or leaves all as it is. The log says which. */
export function reload(parts: ReloadParts, { read, nameOf }: ReloadRequest): void {
  const { settings, log } = parts
  let change: SettingsChange
  let renewed: boolean
  try {
    change = changeOf(settings.current, read())
    // The last that can fail: from here on there is only taking over.
    renewed = parts.listener.renewCertificate(change.next, parts.clock())
  } catch (error) {
    log.error(
      { problem: error instanceof Error ? error.message : String(error) },
      'the settings are not taken over, and all stays as it was',
    )
    return
  }
  settings.current = change.next
  apply(parts, change)
  const { certificateDates } = parts.listener
  const renewal =
    renewed && certificateDates !== null
      ? { certificate: 'renewed', valid_to: isoTime(certificateDates.validTo) }
      : {}
  log.info({ changed: change.taken.map(nameOf), ...renewal }, 'the settings are read again')
  if (change.left.length > 0) log.warn({ settings: change.left.map(nameOf) }, 'needs a restart')
}

function apply(parts: ReloadParts, { next, taken }: SettingsChange): void {
  parts.log.level = next.logLevel
  parts.apiKeys.replace(next.apiKeys)
  parts.bodies.bytesMax = next.bodiesBytesMax
  parts.imageGate.limit({
    activeCountMax: next.imageConcurrency,
    waitingBytesMax: next.imagesWaitingBytesMax,
  })
  limitPerAddress(next.connectionsPerAddressMax)
  if (taken.includes('connectionsMax')) parts.connections.limit(next.connectionsMax)
}
