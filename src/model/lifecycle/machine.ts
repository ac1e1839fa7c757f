/**
 * The lifecycle of model versions as a pure state machine. An event goes in; the next state and the commands to execute come
 * out. No I/O, no clock, no randomness: `lifecycle.ts` executes the commands and reports their results as events.
 *
 *             load             adopted
 *   wanted --------> loading ----------> serving (role active), shadow (role shadow)
 *                    ^     |
 *   the retry is due |     | failed
 *                    +-- failed
 *
 * A version that is no longer named leaves the machine from any state: its load is cancelled immediately, its model is
 * released. The serving version is the exception: it leaves when another one has been adopted.
 *
 * Fallback: a version that fails its cycles is abandoned, and the one that served before is loaded. Once that one serves,
 * the abandoned version is failed and not tried again, until `ACTIVE` is written. The fallback ends when `ACTIVE` names
 * another version, or when the abandoned one has been loaded again. A version that cannot be loaded while none serves gets
 * a fallback too, and is tried again all the time.
 */
import { assert, type VersionRole, type VersionState } from '../../contract/index.js'

/** One version in one role. A version that serves and is then named as a shadow has two entries for a while. */
export interface Entry {
  /** Identifies the entry in events and commands; never reused. */
  readonly id: number
  readonly version: string
  readonly role: VersionRole
  readonly state: VersionState
  /** The last failure, kept while and after the version is tried again. A failed version without one waits for `ACTIVE`. */
  readonly failure: Failure | null
}

/** A version that is to serve instead of another one. */
export interface Fallback {
  readonly version: string
  /** The version that failed its cycles, or could not be loaded. */
  readonly failed: string
  readonly cause: 'cycles' | 'load'
  /** That of `Selection` when it failed, or when it was named again. */
  readonly stamp: string | null
  /** It is loaded again, because `ACTIVE` was written or it never served, and ends the fallback when it serves. */
  readonly isTriedAgain: boolean
}

/** What the files name. */
export interface Selection {
  /** The version that `ACTIVE` names; null if the file cannot be read. */
  readonly active: string | null
  /** Changes whenever `ACTIVE` is written; null if the file cannot be read. */
  readonly stamp: string | null
  /** What `SHADOW` names; null: it cannot be read, and shadows stay as they are. */
  readonly shadows: readonly string[] | null
}

export interface Failure {
  /** A time of the clock of `Event`s. */
  readonly retryAtMs: number
  readonly retryMs: number
}

export interface Lifecycle extends Selection {
  /** null: no version was abandoned since `ACTIVE` named another one. */
  readonly fallback: Fallback | null
  readonly entries: readonly Entry[]
  readonly nextId: number
  readonly closed: boolean
}

/** What happened. `nowMs` of `transition` is the time of a monotonic clock. */
export type Event =
  | ({ readonly kind: 'selected' } & Selection)
  | { readonly kind: 'adopted' | 'failed'; readonly id: number }
  /** `failed` has failed too many cycles; `version` served before. */
  | { readonly kind: 'abandoned'; readonly failed: string; readonly version: string }
  /** `failed` cannot be loaded, and no version serves; `version` scored before. */
  | { readonly kind: 'unloadable'; readonly failed: string; readonly version: string }
  /** `version` has scored a cycle. */
  | { readonly kind: 'scored'; readonly version: string }
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
  stamp: null,
  shadows: null,
  fallback: null,
  entries: [],
  nextId: 1,
  closed: false,
}

/** Events of entries that have left are ignored: their commands may have been in progress. */
export function transition(before: Lifecycle, event: Event, nowMs: number): Step {
  const work = new Work(before)
  work.apply(event, nowMs)
  // A closed lifecycle has no entries, and none is added.
  if (!work.next.closed) work.reconcile(nowMs)
  const { next, commands } = work
  assert(next.entries.filter(({ state }) => state === 'serving').length <= 1, 'one version serves at most')
  const names = new Set(next.entries.map(({ role, version }) => `${role} ${version}`))
  assert(names.size === next.entries.length, 'a version has one entry in a role')
  assert(next.nextId >= before.nextId, 'ids of entries are never reused')
  return { next, commands }
}

export function servingEntry({ entries }: Lifecycle): Entry | undefined {
  return entries.find(({ state }) => state === 'serving')
}

/** The fallback, once its version serves. */
export function fallbackInEffect(lifecycle: Lifecycle): Fallback | null {
  const { fallback } = lifecycle
  return fallback !== null && servingEntry(lifecycle)?.version === fallback.version ? fallback : null
}

/** One transition: the state so far, which is replaced as it changes, and the commands so far. */
class Work {
  next: Lifecycle
  readonly commands: Command[] = []

  constructor(before: Lifecycle) {
    this.next = before
  }

  apply(event: Event, nowMs: number): void {
    switch (event.kind) {
      case 'selected':
        this.#select(event)
        break
      case 'abandoned':
        this.#abandon(event)
        break
      case 'unloadable':
        this.#standIn(event)
        break
      case 'scored':
        // The version works again before the other one has taken over.
        if (this.next.fallback?.failed === event.version && fallbackInEffect(this.next) === null)
          this.#endFallback()
        break
      case 'adopted':
        this.#endLoad(event.id, (entry) => this.#adopted(entry))
        break
      case 'failed':
        this.#endLoad(event.id, (entry) => toFailed(entry, nowMs))
        break
      case 'closed':
        for (const entry of this.next.entries) this.#drop(entry, 'close')
        this.next = { ...this.next, closed: true }
    }
  }

  /** Reconciles the entries with the named versions, and starts the loads that may start. */
  reconcile(nowMs: number): void {
    this.#reconcileActive()
    this.#reconcileShadows()
    this.#startFirst('active', nowMs)
    // Shadows wait for the version that is to serve; one that is loading already continues.
    if (!this.#isLoading('active')) this.#startFirst('shadow', nowMs)
  }

  #select({ active, stamp, shadows }: Selection): void {
    const { fallback } = this.next
    this.next = { ...this.next, active, stamp, shadows }
    if (fallback === null || active === null || stamp === fallback.stamp) return
    this.#dropGivenUp()
    const isSame = active === fallback.failed
    this.next = { ...this.next, fallback: isSame ? { ...fallback, stamp, isTriedAgain: true } : null }
  }

  /** One fallback at a time: if its version fails as well, there is no other one. */
  #abandon({ failed, version }: { readonly failed: string; readonly version: string }): void {
    const { active, stamp, fallback } = this.next
    const isUsed = failed === (servingEntry(this.next)?.version ?? active)
    // When `ACTIVE` names it already, it is being loaded anyway.
    if (fallback !== null || !isUsed || version === failed || version === active) return
    this.next = { ...this.next, fallback: { version, failed, cause: 'cycles', stamp, isTriedAgain: false } }
  }

  /** Replaces a fallback of the same kind, whose version could not be loaded either. */
  #standIn({ failed, version }: { readonly failed: string; readonly version: string }): void {
    const { active, stamp, fallback } = this.next
    const isUsed = failed === active && version !== active
    if (!isUsed || servingEntry(this.next) !== undefined || fallback?.cause === 'cycles') return
    this.next = { ...this.next, fallback: { version, failed, cause: 'load', stamp, isTriedAgain: true } }
  }

  #endFallback(): void {
    this.#dropGivenUp()
    this.next = { ...this.next, fallback: null }
  }

  #dropGivenUp(): void {
    for (const entry of this.#of('active')) if (isGivenUp(entry)) this.#drop(entry)
  }

  /** The fallback first: after a restart it must serve before the version that `ACTIVE` names is tried. */
  #reconcileActive(): void {
    const { active, fallback } = this.next
    const serving = servingEntry(this.next)
    const named = [...new Set([fallback?.version ?? null, active])].filter((version) => version !== null)
    for (const entry of this.#of('active'))
      if (entry !== serving && !named.includes(entry.version)) this.#drop(entry)
    const inEffect = fallbackInEffect(this.next)
    const abandoned = inEffect?.isTriedAgain === false ? inEffect.failed : undefined
    for (const version of named)
      if (this.#of('active').every((entry) => entry.version !== version))
        this.#addEntry(version, 'active', version === abandoned ? 'failed' : 'wanted')
  }

  /** The version that serves is not a shadow too. */
  #reconcileShadows(): void {
    const serving = servingEntry(this.next)
    const versions = this.next.shadows ?? this.#of('shadow').map(({ version }) => version)
    const named = versions.filter((version) => version !== serving?.version)
    for (const entry of this.#of('shadow')) if (!named.includes(entry.version)) this.#drop(entry)
    for (const version of named)
      if (this.#of('shadow').every((entry) => entry.version !== version)) this.#addEntry(version, 'shadow')
  }

  /** One version of a role is loaded at a time. */
  #startFirst(role: VersionRole, nowMs: number): void {
    if (this.#isLoading(role)) return
    const isDue = ({ state, failure }: Entry): boolean =>
      state === 'wanted' || (state === 'failed' && failure !== null && nowMs >= failure.retryAtMs)
    const first = this.#of(role).find(isDue)
    if (first === undefined) return
    const loading: Entry = { ...first, state: 'loading' }
    this.#replace(first, loading)
    this.commands.push({ kind: 'load', entry: loading })
  }

  #adopted(entry: Entry): Entry {
    if (entry.role === 'shadow') return { ...entry, state: 'shadow' }
    const serving = servingEntry(this.next)
    if (serving !== undefined) this.#drop(serving)
    const { fallback, active } = this.next
    if (fallback !== null && entry.version === fallback.version) {
      // It may be waiting for a retry. `#reconcileActive` adds it again.
      for (const other of this.#of('active')) if (other.version === fallback.failed) this.#drop(other)
    } else if (entry.version === active) this.#endFallback()
    return { ...entry, state: 'serving' }
  }

  #addEntry(version: string, role: VersionRole, state: 'wanted' | 'failed' = 'wanted'): void {
    const { entries, nextId } = this.next
    const entry: Entry = { id: nextId, version, role, state, failure: null }
    this.next = { ...this.next, entries: [...entries, entry], nextId: nextId + 1 }
  }

  /** Replaces the entry `id`, which is loading, if it is there. */
  #endLoad(id: number, replace: (entry: Entry) => Entry): void {
    const entry = this.next.entries.find((one) => one.id === id)
    if (entry === undefined) return
    assert(entry.state === 'loading', 'only a load ends')
    this.#replace(entry, replace(entry))
  }

  #replace(entry: Entry, by: Entry): void {
    this.next = { ...this.next, entries: this.next.entries.map((other) => (other === entry ? by : other)) }
  }

  /** Removes an entry; its model, if it is in use, is released or closed. */
  #drop(entry: Entry, end: 'release' | 'close' = 'release'): void {
    if (entry.state === 'loading') this.commands.push({ kind: 'cancel', entry })
    if (isInUse(entry)) this.commands.push({ kind: end, entry })
    this.next = { ...this.next, entries: this.next.entries.filter((other) => other !== entry) }
  }

  #of(role: VersionRole): readonly Entry[] {
    return this.next.entries.filter((entry) => entry.role === role)
  }

  #isLoading(role: VersionRole): boolean {
    return this.#of(role).some(({ state }) => state === 'loading')
  }
}

function toFailed(entry: Entry, nowMs: number): Entry {
  const retryMs = entry.failure === null ? retryMsMin : Math.min(2 * entry.failure.retryMs, retryMsMax)
  return { ...entry, state: 'failed', failure: { retryMs, retryAtMs: nowMs + retryMs } }
}

function isGivenUp({ state, failure }: Entry): boolean {
  return state === 'failed' && failure === null
}

function isInUse({ state }: Entry): boolean {
  return state === 'serving' || state === 'shadow'
}
