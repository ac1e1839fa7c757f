/**
 * The simulated disk, and how records expire on it. A removal is a write like any other: it can be late, refused, stored
 * but reported as failed, or cut off by a crash. Pages of images and outcomes are short, so that runs read several.
 */
import { createMemoryContents, type MemoryContents } from '../../src/store/index.js'
import type {
  ExpiryRecords,
  ImageArrival,
  ImageKey,
  OutcomeEntry,
  Position,
  Store,
  StoredCycle,
} from '../../src/store/index.js'
import { fail } from './oracle.js'
import type { StoredWrite } from './sim-store.js'

export interface SimDisk {
  /** All that was ever stored. Cycles before `firstPosition` have expired, and the store does not read them. */
  readonly contents: MemoryContents
  firstPosition: Position
  /** Expired cycles whose request and entered posts are kept. */
  readonly keptEntries: Set<Position>
  /** Arrival times of outcomes, by placement. */
  readonly outcomeArrivals: Map<string, number>
}

export function createSimDisk(): SimDisk {
  return {
    ...{ contents: createMemoryContents(), firstPosition: 1 },
    ...{ keptEntries: new Set(), outcomeArrivals: new Map() },
  }
}

export type Write = <Result>(
  label: string,
  apply: () => Promise<Result>,
  stored: (result: Result) => StoredWrite,
) => Promise<Result>

const pageMax = 2

export class SimExpiry implements ExpiryRecords {
  readonly #disk: SimDisk
  readonly #memory: Store
  readonly #write: Write

  constructor(disk: SimDisk, memory: Store, write: Write) {
    this.#disk = disk
    this.#memory = memory
    this.#write = write
  }

  isExpired(cycleId: string): boolean {
    const position = this.#disk.contents.positions.get(cycleId)
    return position !== undefined && position < this.#disk.firstPosition
  }

  firstPosition(): Position {
    return this.#disk.firstPosition
  }

  oldestCycles(count: number): StoredCycle[] {
    return [...this.#memory.tail(this.#disk.firstPosition)].slice(0, count)
  }

  keptEntries(count: number): Position[] {
    return [...this.#disk.keptEntries].slice(0, count)
  }

  removeCycles(
    cycles: readonly { readonly position: Position; readonly keepEntry: boolean }[],
  ): Promise<void> {
    return this.#write(
      'removal of cycles',
      () => {
        for (const { position, keepEntry } of cycles) {
          if (position !== this.#disk.firstPosition)
            fail(`cycle ${position} is removed, and is not the oldest`)
          if (position >= this.#disk.contents.cycles.length) fail('the newest cycle is removed')
          this.#disk.firstPosition++
          if (keepEntry) this.#disk.keptEntries.add(position)
          else this.#removeTexts(position)
        }
        return Promise.resolve()
      },
      () => ({ kind: 'cycles removed', cycles }),
    )
  }

  removeEntries(positions: readonly Position[]): Promise<void> {
    return this.#write(
      'removal of entries',
      () => {
        for (const position of positions) {
          this.#disk.keptEntries.delete(position)
          this.#removeTexts(position)
        }
        return Promise.resolve()
      },
      () => ({ kind: 'entries removed', positions }),
    )
  }

  /** The key of a text's vector is its position and its row, four bytes each. */
  #removeTexts(position: Position): void {
    const start = position.toString(16).padStart(8, '0')
    for (const name of [...this.#disk.contents.embeddings.keys()]) {
      const key = name.slice(name.indexOf('/') + 1)
      if (key.length === 16 && key.startsWith(start)) this.#disk.contents.embeddings.delete(name)
    }
  }

  imagesAfter(
    cursor: Uint8Array | null,
    count: number,
  ): { images: ImageArrival[]; cursor: Uint8Array | null } {
    const { names, cursor: next } = pageAfter(this.#disk.contents.images.keys(), cursor, count)
    return { images: names.map((name) => this.#arrivalOf(name)), cursor: next }
  }

  #arrivalOf(name: string): ImageArrival {
    const { key, image } = this.#disk.contents.images.get(name) ?? fail(`there is no image ${name}`)
    return { key, arrivedAtMs: image.arrivedAtMs ?? fail(`image ${name} has no arrival`) }
  }

  completeImages(): Promise<boolean> {
    return Promise.resolve(true)
  }

  removeImages(images: readonly ImageArrival[]): Promise<ImageKey[]> {
    const { contents } = this.#disk
    return this.#write(
      'removal of images',
      () => {
        const removed = [...contents.images].filter(([name]) => {
          const found = this.#arrivalOf(name)
          return images.some((image) => JSON.stringify(image) === JSON.stringify(found))
        })
        for (const [name] of removed) contents.images.delete(name)
        return Promise.resolve(removed.map(([, { key }]) => key))
      },
      (removed) => ({
        kind: 'images removed',
        images: images.filter(({ key }) => removed.some((gone) => isSameKey(gone, key))),
      }),
    )
  }

  outcomesAfter(
    cursor: Uint8Array | null,
    count: number,
  ): { outcomes: OutcomeEntry[]; cursor: Uint8Array | null } {
    const { names, cursor: next } = pageAfter(this.#disk.contents.outcomes.keys(), cursor, count)
    return { outcomes: names.map((placementId) => outcomeOn(this.#disk, placementId)), cursor: next }
  }

  removeOutcomes(outcomes: readonly OutcomeEntry[]): Promise<void> {
    const { contents, outcomeArrivals } = this.#disk
    const removed: OutcomeEntry[] = []
    return this.#write(
      'removal of outcomes',
      () => {
        for (const { placementId, record, arrivedAtMs } of outcomes) {
          if (!contents.outcomes.has(placementId)) continue
          const found = outcomeOn(this.#disk, placementId)
          if (found.arrivedAtMs !== arrivedAtMs || Buffer.compare(found.record, record) !== 0) continue
          contents.outcomes.delete(placementId)
          outcomeArrivals.delete(placementId)
          removed.push(found)
        }
        return Promise.resolve()
      },
      () => ({ kind: 'outcomes removed', outcomes: removed }),
    )
  }
}

export function outcomeOn({ contents, outcomeArrivals }: SimDisk, placementId: string): OutcomeEntry {
  const record = contents.outcomes.get(placementId)?.slice() ?? fail(`there is no outcome ${placementId}`)
  const arrivedAtMs = outcomeArrivals.get(placementId) ?? fail(`outcome ${placementId} has no arrival`)
  return { placementId, record, arrivedAtMs }
}

function isSameKey(one: ImageKey, other: ImageKey): boolean {
  return one.gallId === other.gallId && one.postNo === other.postNo && one.position === other.position
}

/** Names after the one that `cursor` holds, in order; the next cursor is null after the last name. */
function pageAfter(
  all: Iterable<string>,
  cursor: Uint8Array | null,
  count: number,
): { names: string[]; cursor: Uint8Array | null } {
  const after = cursor === null ? '' : Buffer.from(cursor).toString()
  const rest = [...all].sort().filter((name) => name > after)
  const names = rest.slice(0, Math.min(count, pageMax))
  return { names, cursor: rest.length > names.length ? Buffer.from(names.at(-1) ?? '') : null }
}
