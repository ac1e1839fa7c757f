/**
 * Options of a simulation: their types, their validation and their defaults.
 */
import { validateHeaderValue } from 'node:http'
import { cycleBoundaryMs, parseInstant, rowCountMax } from '../contract/index.js'
import { OptionError } from './errors.js'
import type { WorldIdentity } from './entries.js'
import type { Outage } from './api.js'
import type { SimulationProgress } from './report.js'

/** All options but the service's address and its key: what can be checked before a service exists. */
export interface WorkloadOptions {
  /** The same seed gives the same posts. Default 1. */
  readonly seed?: number | string | undefined
  /** Simulated time in hours; a multiple of five minutes. Default 24. */
  readonly hours?: number | undefined
  /** Posts that enter in 24 hours, on average. Default 2,200. */
  readonly postsPerDay?: number | undefined
  /** Simulated seconds per second; 0 means as fast as the service responds. Default 0. */
  readonly speed?: number | undefined
  /** Lost responses, broken connections, duplicate calls, client restarts. Default true. */
  readonly faults?: boolean | undefined
  /**
   * Start of the simulated time (RFC 3339; rounded down to a five-minute boundary). Default: the latest period in
   * which the service has no cycles.
   */
  readonly startAt?: string | undefined
  /** How long the service may be unavailable, in seconds. Default 60. */
  readonly retryTimeoutSeconds?: number | undefined
  /** The service is new and has no other client: foreign data in a response is a violation. Default false. */
  readonly exclusive?: boolean | undefined
  /** Run against a service that holds posts or cycles of other clients. Default false. */
  readonly intoUsedServer?: boolean | undefined
  /** Leave the posts pending at the end. By default a last cycle removes them. */
  readonly keepPosts?: boolean | undefined
}

export interface SimulationOptions extends WorkloadOptions {
  /** Base URL, `http:` or `https:`, with or without a path. */
  readonly url: string
  /** The whole `Authorization` header. */
  readonly apiKey: string
  /** Called after each cycle. */
  readonly onProgress?: (progress: SimulationProgress) => void
  /** Called at each attempt that fails because the service is unavailable, and with null when it responds again. */
  readonly onOutage?: (outage: Outage | null) => void
  /** Stops the simulation, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Validated options with all defaults. */
export type Settings = Readonly<ReturnType<typeof resolveOptions>>

/** All pending posts must fit into one call, and a day may bring a few more than the average. */
const postsPerDayMax = rowCountMax - 500
const hoursMax = 24 * 366
const galleryCount = 8
const imageShare = 0.25

/** Validates options and adds the defaults; throws an `OptionError`. */
export function resolveOptions(options: SimulationOptions) {
  const { url, apiKey } = options
  const { protocol } = URL.canParse(url) ? new URL(url) : { protocol: null }
  if (protocol !== 'http:' && protocol !== 'https:') reject('url', 'must be an http or https URL', url)
  try {
    validateHeaderValue('authorization', apiKey)
  } catch {
    throw new OptionError('apiKey', 'contains characters that are not allowed in a header')
  }
  if (apiKey === '') throw new OptionError('apiKey', 'must not be empty')
  return { url, apiKey, ...resolveWorkload(options) }
}

/** `resolveOptions` without the service's address and its key. */
export function resolveWorkload(options: WorkloadOptions) {
  const hours = options.hours ?? 24
  const cycleCount = Math.round(hours * 12)
  // Written so that NaN fails.
  if (!(cycleCount >= 1 && hours <= hoursMax && Math.abs(cycleCount - hours * 12) <= 1e-6))
    reject('hours', `must be a multiple of 5 minutes (1/12), at most ${hoursMax}`, hours)
  const identity: WorldIdentity = {
    seed: options.seed ?? 1,
    hours: cycleCount / 12,
    postsPerDay: numberIn('postsPerDay', options.postsPerDay ?? 2200, 0, postsPerDayMax),
    galleries: galleryCount,
    imageShare,
  }
  return {
    identity,
    cycleCount,
    speed: numberIn('speed', options.speed ?? 0, 0, Number.MAX_VALUE),
    faults: options.faults ?? true,
    /** A five-minute boundary, or null for the default. */
    startAtMs: options.startAt === undefined ? null : boundaryOf(options.startAt),
    retryTimeoutMs: numberIn('retryTimeoutSeconds', options.retryTimeoutSeconds ?? 60, 0, 86_400) * 1000,
    exclusive: options.exclusive ?? false,
    intoUsedServer: options.intoUsedServer ?? false,
    keepPosts: options.keepPosts ?? false,
  }
}

function numberIn(name: keyof WorkloadOptions, value: number, minimum: number, maximum: number): number {
  const range = maximum === Number.MAX_VALUE ? `that is at least ${minimum}` : `from ${minimum} to ${maximum}`
  // Written so that NaN fails.
  if (!(value >= minimum && value <= maximum)) reject(name, `must be a number ${range}`, value)
  return value
}

function boundaryOf(startAt: string): number {
  const atMs = parseInstant(startAt)?.ms ?? NaN
  if (!(atMs >= 0))
    reject('startAt', 'must be a date-time with an offset, such as 2026-03-02T12:00:00+09:00', startAt)
  return Math.floor(atMs / cycleBoundaryMs) * cycleBoundaryMs
}

/** Must not be used for the key, because the message repeats the value. */
function reject(option: keyof SimulationOptions, rule: string, value: number | string): never {
  const shown = typeof value === 'number' ? String(value) : JSON.stringify(value)
  throw new OptionError(option, `${rule}, not ${shown}`)
}
