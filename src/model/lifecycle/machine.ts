/**
 * The life of model versions as a pure state machine. An event goes in; the next state and the commands to execute come
 * out. No I/O, no clock, no randomness: `lifecycle.ts` executes the commands and reports their results as events.
 *
 *             load             loaded               adopted
 *   wanted --------> loading ----------> candidate ---------> serving (role active), shadow (role shadow)
 *                    ^     \                /
 *   the retry is due |      \ failed       / failed
 *                    +------- failed <----+
 *
 * A version that is no longer named leaves the machine from any state: its load is cancelled at once, its model is
 * released. The serving version is the exception: it leaves when another one has been adopted.
 */
import { assert } from '../../contract/index.js'

/** `ACTIVE` names the version of the active role, `SHADOW` those of the shadow role. */
export type Role = 'active' | 'shadow'
export type VersionState = 'wanted' | 'loading' | 'candidate' | 'serving' | 'shadow' | 'failed'

/** One version in one role. A version that serves and is then named as a shadow has two entries for a while. */
export interface Entry {
  /** Identifies the entry in events and commands; never used again. */
  readonly id: number
  readonly version: string
  readonly role: Role
  readonly state: VersionState
  /** After the last failure, kept while and after the version is tried again. */
  readonly failure: Failure | null
}

export interface Failure {
  /** By the clock of `Event`s. */
  readonly retryAtMs: number
  readonly retryMs: number
}

export interface Lifecycle {
  /** What `ACTIVE` names; null: nothing that can be read. */
  readonly active: string | null
  /** What `SHADOW` names; null: it cannot be read, and shadows stay as they are. */
  readonly shadows: readonly string[] | null
  readonly entries: readonly Entry[]
  readonly nextId: number
  readonly closed: boolean
}

/** What happened. `nowMs` of `transition` is the time of a monotonic clock. */
export type Event =
  | { readonly kind: 'selected'; readonly active: string | null; readonly shadows: readonly string[] | null }
  | { readonly kind: 'loaded' | 'adopted' | 'failed'; readonly id: number }
  | { readonly kind: 'closed' }

/**
 * What is to be done: `load` a version and adopt it, `cancel` that, `release` a model after its last use, `close` it at
 * once.
 */
export interface Command {
  readonly kind: 'load' | 'cancel' | 'release' | 'close'
  readonly entry: Entry
}

export interface Step {
  readonly next: Lifecycle
  readonly commands: readonly Command[]
}

/** Back-off of a version that fails. */
export const retryMsMin = 1000
export const retryMsMax = 30_000

export const initialLifecycle: Lifecycle = {
  active: null,
  shadows: null,
  entries: [],
  nextId: 1,
  closed: false,
}

/** Events of entries that have left are ignored: their commands may have been under way. */
export function transition(before: Lifecycle, event: Event, nowMs: number): Step {
  if (before.closed) return { next: before, commands: [] }
  const work = new Work(before)
  switch (event.kind) {
    case 'selected':
      work.select(event.active, event.shadows)
      break
    case 'closed':
      return work.close()
    case 'loaded':
      work.change(event.id, 'loading', (entry) => ({ ...entry, state: 'candidate' }))
      break
    case 'adopted':
      work.change(event.id, 'candidate', (entry) => work.adopted(entry))
      break
    case 'failed':
      work.fail(event.id, nowMs)
  }
  work.reconcile(nowMs)
  return work.step()
}

export function servingEntry({ entries }: Lifecycle): Entry | undefined {
  return entries.find(({ state }) => state === 'serving')
}

/** One transition: a copy of the state that is changed in place, and the commands so far. */
class Work {
  readonly #before: Lifecycle
  readonly #commands: Command[] = []
  #active: string | null
  #shadows: readonly string[] | null
  #entries: readonly Entry[]
  #nextId: number

  constructor(before: Lifecycle) {
    this.#before = before
    this.#active = before.active
    this.#shadows = before.shadows
    this.#entries = before.entries
    this.#nextId = before.nextId
  }

  step(): Step {
    const [active, shadows, entries] = [this.#active, this.#shadows, this.#entries]
    assert(entries.filter(({ state }) => state === 'serving').length <= 1, 'one version serves at most')
    return {
      next: { ...this.#before, active, shadows, entries, nextId: this.#nextId },
      commands: this.#commands,
    }
  }

  select(active: string | null, shadows: readonly string[] | null): void {
    this.#active = active
    this.#shadows = shadows
  }

  close(): Step {
    for (const entry of this.#entries) {
      if (isInProgress(entry)) this.command('cancel', entry)
      if (isInUse(entry)) this.command('close', entry)
    }
    return {
      next: { ...this.#before, entries: [], closed: true },
      commands: this.#commands,
    }
  }

  command(kind: Command['kind'], entry: Entry): Entry {
    this.#commands.push({ kind, entry })
    return entry
  }

  /** Replaces the entry `id`, if it is there and in the state `from`. */
  change(id: number, from: VersionState, replace: (entry: Entry) => Entry): void {
    const entry = this.#entries.find((candidate) => candidate.id === id)
    if (entry === undefined) return
    assert(entry.state === from, `an entry in the state ${entry.state} must be ${from}`)
    this.#replace(entry, replace(entry))
  }

  adopted(entry: Entry): Entry {
    if (entry.role === 'shadow') return { ...entry, state: 'shadow' }
    for (const other of this.#entries) if (other.state === 'serving') this.#drop(other)
    return { ...entry, state: 'serving' }
  }

  fail(id: number, nowMs: number): void {
    const entry = this.#entries.find((candidate) => candidate.id === id)
    if (entry === undefined) return
    assert(isInProgress(entry), `an entry in the state ${entry.state} cannot fail to load`)
    const retryMs = entry.failure === null ? retryMsMin : Math.min(2 * entry.failure.retryMs, retryMsMax)
    const failure: Failure = { retryMs, retryAtMs: nowMs + retryMs }
    this.#replace(entry, { ...entry, state: 'failed', failure })
  }

  /** Makes the entries those that are named, and starts what may start. */
  reconcile(nowMs: number): void {
    this.#reconcileActive()
    this.#reconcileShadows()
    this.#startFirst('active', nowMs)
    // Shadows wait for the version that is to serve; one that loads already goes on.
    if (!this.#isInProgress('active')) this.#startFirst('shadow', nowMs)
  }

  #reconcileActive(): void {
    const serving = this.#entries.find(({ state }) => state === 'serving')
    for (const entry of this.#of('active'))
      if (entry !== serving && entry.version !== this.#active) this.#drop(entry)
    if (this.#active === null || this.#active === serving?.version) return
    if (this.#of('active').every((entry) => entry === serving)) this.#want(this.#active, 'active')
  }

  /** The version that serves is not a shadow too. */
  #reconcileShadows(): void {
    const serving = this.#entries.find(({ state }) => state === 'serving')
    const versions = this.#shadows ?? this.#of('shadow').map(({ version }) => version)
    const named = versions.filter((version) => version !== serving?.version)
    for (const entry of this.#of('shadow')) if (!named.includes(entry.version)) this.#drop(entry)
    for (const version of named)
      if (this.#of('shadow').every((entry) => entry.version !== version)) this.#want(version, 'shadow')
  }

  /** One version of a role is loaded at a time. */
  #startFirst(role: Role, nowMs: number): void {
    if (this.#isInProgress(role)) return
    const isDue = ({ state, failure }: Entry): boolean =>
      state === 'wanted' || (state === 'failed' && failure !== null && nowMs >= failure.retryAtMs)
    const first = this.#of(role).find(isDue)
    if (first !== undefined) this.#replace(first, this.command('load', { ...first, state: 'loading' }))
  }

  #want(version: string, role: Role): void {
    const entry: Entry = { id: this.#nextId++, version, role, state: 'wanted', failure: null }
    this.#entries = [...this.#entries, entry]
  }

  #drop(entry: Entry): void {
    if (isInProgress(entry)) this.command('cancel', entry)
    if (isInUse(entry)) this.command('release', entry)
    this.#entries = this.#entries.filter((other) => other !== entry)
  }

  #replace(entry: Entry, next: Entry): void {
    this.#entries = this.#entries.map((other) => (other === entry ? next : other))
  }

  #of(role: Role): readonly Entry[] {
    return this.#entries.filter((entry) => entry.role === role)
  }

  #isInProgress(role: Role): boolean {
    return this.#of(role).some(isInProgress)
  }
}

function isInProgress({ state }: Entry): boolean {
  return state === 'loading' || state === 'candidate'
}

function isInUse({ state }: Entry): boolean {
  return state === 'serving' || state === 'shadow'
}
