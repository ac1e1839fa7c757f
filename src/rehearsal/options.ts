/**
 * What a rehearsal can be told, checked once and completed with defaults.
 */
import { validateHeaderValue } from 'node:http'
import { cycleBoundaryMs, parseInstant, rowCountMax } from '../contract/index.js'
import { OptionError } from './breach.js'
import { galleryNames, type WorldIdentity } from './galleries.js'
import type { Absence } from './http-client.js'
import type { RehearsalProgress } from './report.js'

export interface RehearsalOptions {
  /** Base URL, `http:` or `https:`, with or without a path. */
  readonly url: string
  /** The whole `Authorization` header. */
  readonly apiKey: string
  /** Same seed, same posts. Default 1. */
  readonly seed?: number | string
  /** Simulated time, in hours; a multiple of five minutes. Default 24. */
  readonly hours?: number
  /** Posts that enter in 24 hours, on average. Default 2,200. */
  readonly postsPerDay?: number
  /** How many galleries, or their names. Default 8. */
  readonly galleries?: number | readonly string[]
  /** Simulated seconds per second; 0 or Infinity: as fast as the service answers. Default 0. */
  readonly speed?: number
  /** Part of the larger JSON bodies that go out as gzip, 0 to 1. Default 0.5. */
  readonly gzipShare?: number
  /** Bodies below this size never go out as gzip. Default 16 KiB. */
  readonly gzipBytesMin?: number
  /** Part of the posts with images whose images are uploaded, 0 to 1. Default 0.25. */
  readonly imageShare?: number
  /** Lost answers, broken connections, twin calls, client restarts. Default true. */
  readonly faults?: boolean
  /**
   * Where simulated time begins (milliseconds since 1970, or RFC 3339; floored to a five-minute boundary).
   * Default: such that the rehearsal ends now, or as `resume` finds.
   */
  readonly startAt?: number | string
  /**
   * auto: without `startAt`, take up a rehearsal of the same options that the service already holds, if it was
   * cut short or its time overlaps with that of a new one. never: begin a new one, earlier if need be. Default auto.
   */
  readonly resume?: 'auto' | 'never'
  /** How long the service may be away, in seconds. Default 60. */
  readonly patienceS?: number
  /** The service is fresh and has no other client: anything of others in its answers is a breach. Default false. */
  readonly expectAlone?: boolean
  /** Called after each cycle. */
  readonly onProgress?: (progress: RehearsalProgress) => void
  /** Called before a search, which may take a while, for cycles that the service does not hold yet. */
  readonly onSearch?: () => void
  /** Called at each attempt that fails because the service is away, and with null when it answers again. */
  readonly onAway?: (absence: Absence | null) => void
  /** Stops the rehearsal, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Options with nothing left open but the beginning. */
export interface Settings {
  readonly url: string
  readonly apiKey: string
  readonly identity: WorldIdentity
  readonly cycleCount: number
  /** 0: unpaced. */
  readonly speed: number
  readonly gzipShare: number
  readonly gzipBytesMin: number
  readonly faults: boolean
  /** A five-minute boundary, or null for the default. */
  readonly startAtMs: number | null
  readonly resume: 'auto' | 'never'
  readonly patienceMs: number
  readonly expectAlone: boolean
}

/** All pending posts must fit into one call, and a day may bring a few more than the average. */
const postsPerDayMax = rowCountMax - 500
const hoursMax = 24 * 366
const galleryCountMax = 1000

type Option = Exclude<keyof RehearsalOptions, 'apiKey'>

/** Checks and completes options; throws an `OptionError`. */
export function settle(options: RehearsalOptions): Settings {
  return { url: urlOf(options.url), apiKey: keyOf(options.apiKey), ...settleSimulation(options) }
}

/** All options but the service's address and its key: what can be checked before there is a service. */
export type SimulationOptions = Omit<RehearsalOptions, 'url' | 'apiKey'>

/** Checks and completes them; throws an `OptionError`. */
export function settleSimulation(options: SimulationOptions): Omit<Settings, 'url' | 'apiKey'> {
  const cycleCount = cycleCountOf(options.hours ?? 24)
  const speed = options.speed ?? 0
  return {
    identity: {
      seed: options.seed ?? 1,
      hours: cycleCount / 12,
      postsPerDay: numberIn('postsPerDay', options.postsPerDay ?? 2200, 0, postsPerDayMax),
      galleries: namesOf(options.galleries ?? 8),
      imageShare: numberIn('imageShare', options.imageShare ?? 0.25, 0, 1),
    },
    cycleCount,
    speed: speed === Infinity ? 0 : numberIn('speed', speed, 0, Number.MAX_VALUE),
    gzipShare: numberIn('gzipShare', options.gzipShare ?? 0.5, 0, 1),
    gzipBytesMin: numberIn('gzipBytesMin', options.gzipBytesMin ?? 16 * 1024, 0, Number.MAX_VALUE),
    faults: options.faults ?? true,
    startAtMs: options.startAt === undefined ? null : boundaryOf(options.startAt),
    resume: options.resume ?? 'auto',
    patienceMs: numberIn('patienceS', options.patienceS ?? 60, 0, 86_400) * 1000,
    expectAlone: options.expectAlone ?? false,
  }
}

function cycleCountOf(hours: number): number {
  const cycleCount = Math.round(hours * 12)
  // Written so that NaN fails.
  const good = cycleCount >= 1 && hours <= hoursMax && Math.abs(cycleCount - hours * 12) <= 1e-6
  if (!good) refuse('hours', `must be a multiple of 5 minutes (1/12), at most ${hoursMax}`, hours)
  return cycleCount
}

function numberIn(name: Option, value: number, minimum: number, maximum: number): number {
  const range = maximum === Number.MAX_VALUE ? `that is at least ${minimum}` : `from ${minimum} to ${maximum}`
  // Written so that NaN fails.
  if (!(value >= minimum && value <= maximum)) refuse(name, `must be a number ${range}`, value)
  return value
}

function urlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    refuse('url', 'must be an http or https URL', text)
  return text
}

function keyOf(apiKey: string): string {
  try {
    validateHeaderValue('authorization', apiKey)
  } catch {
    throw new OptionError('apiKey', 'holds characters that no header can')
  }
  if (apiKey === '') throw new OptionError('apiKey', 'must not be empty')
  return apiKey
}

function namesOf(galleries: number | readonly string[]): string[] {
  if (typeof galleries === 'number') {
    const good = Number.isInteger(galleries) && galleries >= 1 && galleries <= galleryCountMax
    if (!good) refuse('galleries', `must be a whole number from 1 to ${galleryCountMax}`, galleries)
    return galleryNames(galleries)
  }
  const names = [...galleries]
  if (names.length === 0 || names.includes('')) refuse('galleries', 'must be named', names)
  if (new Set(names).size < names.length) refuse('galleries', 'must be named once each', names)
  return names
}

function boundaryOf(startAt: number | string): number {
  const atMs = typeof startAt === 'number' ? startAt : parseInstant(startAt)?.ms
  if (atMs === undefined || !(atMs >= 0)) {
    refuse('startAt', 'must be a date-time with an offset, such as 2026-03-02T12:00:00+09:00', startAt)
  }
  return Math.floor(atMs / cycleBoundaryMs) * cycleBoundaryMs
}

/** Not for the key: it repeats the value. */
function refuse(option: Option, rule: string, value: number | string | readonly string[]): never {
  const shown = typeof value === 'number' ? String(value) : JSON.stringify(value)
  throw new OptionError(option, `${rule}, not ${shown}`)
}
