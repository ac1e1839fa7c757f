/**
 * The view of a journal in the databases of one process: the records as of one entry. It can always be read again from the
 * journal, and is, when it holds an entry that the journal does not have.
 */
import { randomUUID } from 'node:crypto'
import type { Log } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import {
  applyChanges,
  bytesOf,
  imageNumbersOf,
  kinds,
  readImageIdentity,
  readViewState,
  writeViewState,
  type Change,
  type Databases,
  type RecordDatabase,
  type RecordStoreParts,
  type ViewState,
} from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { FollowedChanges, ImageKey } from '../store.js'
import { originMark, type EntryMark, type Journal } from './journal.js'

export interface ViewParts {
  readonly journal: Journal
  /** Its databases, and how they are written. */
  readonly view: Pick<RecordStoreParts, 'databases' | 'writes' | 'isHealthy'>
  /** Shown with the lease: host and data directory. A copied view counts as a different process. */
  readonly name: string
  readonly log: Log
}

/** Records that are deleted in one transaction. */
const clearCount = 10_000

export class View {
  readonly #parts: ViewParts
  #state: ViewState
  /** True while it may hold records that are not of this journal. */
  #mustClear: boolean
  /** True while memory may lack changes that were read: a reading was interrupted, or a listener failed. */
  isMemoryStale = false

  /** Throws a StoreError `unusable` for databases of something else. */
  constructor(parts: ViewParts) {
    const { journal, view, name } = parts
    const stored = readViewState(view.databases)
    const problem = stored === null ? problemOfContents(view.databases) : problemOfView(stored, journal)
    if (problem !== null) throw new StoreError('unusable', problem)
    const node = stored?.node.startsWith(`${name}#`) === true ? stored.node : `${name}#${randomUUID()}`
    const { number, token } = stored ?? originMark
    this.#parts = parts
    const partial = stored?.partial ?? null
    this.#state = { environment: journal.environment, id: journal.id, node, number, token, partial }
    // A first reading that was interrupted may have read what was removed since.
    this.#mustClear = number === 0
  }

  /** The entry up to which the view has read. */
  get mark(): EntryMark {
    return this.#state
  }

  /** The name under which this process holds the lease. */
  get node(): string {
    return this.#state.node
  }

  get isHealthy(): boolean {
    return this.#parts.view.isHealthy()
  }

  /** Reads the journal up to its head. Returns what has changed; null: nothing. */
  async read(): Promise<FollowedChanges | null> {
    const { journal, log } = this.#parts
    const images = { stored: [] as ImageKey[], removed: [] as ImageKey[] }
    if (this.#state.partial !== null) this.isMemoryStale = true
    if (this.#mustClear) await this.#clear()
    const follow = (): ReturnType<Journal['follow']> =>
      journal.follow(
        this.#state,
        async (changes, isLast, head) => {
          this.#collectImages(changes, images)
          await this.apply(changes, isLast ? { ...head, partial: null } : { partial: head })
          // What is removed until the next reading would stay.
          this.#mustClear = this.#state.number === 0
        },
        this.#state.partial,
      )
    const before = this.#state.number
    let result = await follow()
    if (result.kind === 'diverged') {
      log.warn({ entry: before }, 'the view has an entry that the journal lacks; reading everything again')
      await this.#clear()
      result = await follow()
    }
    assert(result.kind === 'followed', 'an empty view follows any journal')
    const isComplete = this.isMemoryStale
    if (!isComplete && this.#state.number === before) return null
    this.isMemoryStale = false
    return { isComplete, imagesStored: images.stored, imagesRemoved: images.removed }
  }

  /** Stores changes, and how far the view has read with them, in one transaction. */
  async apply(changes: readonly Change[], progress: Partial<ViewState>): Promise<void> {
    const { view } = this.#parts
    const next: ViewState = { ...this.#state, ...progress }
    assert(next.number >= this.#state.number, 'a view never goes back to an earlier entry')
    const apply = (): void => {
      applyChanges(view.databases, changes)
      writeViewState(view.databases, next)
    }
    await view.writes.write(bytesOf(changes.map(({ value }) => value)), apply, true)
    this.#state = next
  }

  async #clear(): Promise<void> {
    const { view } = this.#parts
    const empty = { ...this.#state, ...originMark, partial: null }
    this.isMemoryStale = true
    for (const kind of kinds) {
      const database: RecordDatabase<number | Uint8Array> = view.databases[kind]
      for (;;) {
        const keys = [...database.getKeys({ limit: clearCount })]
        if (keys.length === 0) break
        await view.writes.write(keys.length, () => {
          for (const key of keys) database.remove(key)
          writeViewState(view.databases, empty)
        })
      }
    }
    this.#state = empty
    this.#mustClear = false
  }

  #collectImages(changes: readonly Change[], images: { stored: ImageKey[]; removed: ImageKey[] }): void {
    const { databases } = this.#parts.view
    for (const { kind, key, value } of changes) {
      if (kind !== 'images' || typeof key === 'number') continue
      const record = value ?? databases.images.getBinary(key)
      if (record === undefined) continue
      const imageKey = { gallId: readImageIdentity(record).gallId, ...imageNumbersOf(key) }
      images[value === null ? 'removed' : 'stored'].push(imageKey)
    }
  }
}

function problemOfContents(databases: Databases): string | null {
  if (isEmpty(databases)) return null
  return 'the data directory has data that is not in the journal; move it with: understudy journal import'
}

function problemOfView({ environment, id, number }: ViewState, journal: Journal): string | null {
  if (environment !== journal.environment)
    return `the data directory is a view of the environment ${environment}, not ${journal.environment}`
  if (id === journal.id || number === 0) return null
  return (
    `the data directory is a view of another environment ${environment}: the environment was re-created. Make the ` +
    'directory independent with: understudy journal detach, or delete it'
  )
}

/** Whether databases have no record of the journal's kinds. */
export function isEmpty(databases: Databases): boolean {
  return kinds.every((kind) => [...databases[kind].getKeys({ limit: 1 })].length === 0)
}
