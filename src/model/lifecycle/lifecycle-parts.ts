/**
 * What the lifecycle of model versions is made of, and what it reports.
 */
import type { Log } from '../../base/index.js'
import type { LoadedModel } from '../loaded-model.js'
import type { Model } from '../model.js'
import type { LoadVersion } from '../verification/verified-model.js'
import type { FallbackFile } from './fallback-file.js'
import type { Entry, Fallback } from './machine.js'
import type { StatusFile } from './status-file.js'

/** The users of models: implemented by `src/cycle`. */
export interface ModelUsers {
  /**
   * Prepares `model` and calls `takeOver` between two cycles; from then on `before` is not used. Rejects if a step
   * fails or `takeOver` throws; then nothing has changed. An aborted `signal` ends the preparation.
   */
  adopt(model: Model, before: Model | null, takeOver: () => void, signal: AbortSignal): Promise<void>
  /** Once it has resolved, `model` scores every cycle after its response. */
  addShadow(model: Model, signal: AbortSignal): Promise<void>
  /** Resolves when the model is no longer used. */
  removeShadow(model: Model): Promise<void>
}

export interface LifecycleParts {
  readonly modelsDir: string
  readonly load: LoadVersion
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Shows the states of the versions to other processes. */
  readonly statusFile: Pick<StatusFile, 'write' | 'remove'>
  /** Keeps a fallback across restarts. */
  readonly fallbackFile: FallbackFile
  /** The version of the last cycle that none of these versions scored; null: there is none. */
  readonly scoredBefore: (versions: ReadonlySet<string>) => Promise<string | null>
}

/** A version that has failed as many consecutive cycles as are allowed. */
export interface FailedCycles {
  readonly version: string
  readonly cycleCount: number
  readonly problem: string
}

/** The version that served before serves instead of one that failed. */
export interface FallbackFacts extends Pick<Fallback, 'version' | 'failed' | 'cause'> {
  readonly reason: string
  /** Milliseconds since 1970. */
  readonly atMs: number
}

/** A version that is named or in use. The members of its model are null while none is loaded. */
export interface VersionFacts extends Pick<Entry, 'version' | 'role' | 'state'> {
  /** How its files on disk differ from those that it was loaded from; null: they do not. */
  readonly changed: string | null
  readonly kind: Model['kind'] | null
  readonly provider: string | null
  readonly placements: LoadedModel['placements']
  readonly processes: LoadedModel['processes']
}

/** Why no version scores. */
export interface ModelAbsence {
  /** The version that should. */
  readonly version: string
  readonly reason: string
  /** It is loaded, and its process restarts. */
  readonly isRestarting: boolean
}

/** The model of an entry, from its load until it is closed. */
export interface Run {
  readonly cancel: AbortController
  model: LoadedModel | null
  /** Resolves when the load and the adoption have succeeded or failed. */
  done: Promise<void>
}
