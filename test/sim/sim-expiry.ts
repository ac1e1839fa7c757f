/**
 * How records expire on the simulated disk. A removal is a write like any other: it can be late, refused, stored but
 * reported as failed, or cut off by a crash. Pages of images and outcomes are short, so that runs read several.
 */
import type { ExpiryRecords, ImageKey, Position, Store } from '../../src/store/index.js'
import type { StoredWrite } from './sim-store.js'

export type Write = <Result>(
  label: string,
  apply: () => Promise<Result>,
  stored: (result: Result) => StoredWrite,
) => Promise<Result>

const pageMax = 2

export function simExpiry(memory: Store, write: Write): ExpiryRecords {
  const { expiry } = memory
  return {
    isExpired: (cycleId) => expiry.isExpired(cycleId),
    firstPosition: () => expiry.firstPosition(),
    oldestCycles: (count) => expiry.oldestCycles(count),
    keptEntries: (count) => expiry.keptEntries(count),
    removeCycles: (cycles) =>
      write(
        'removal of cycles',
        () => expiry.removeCycles(cycles),
        () => ({ kind: 'cycles removed', cycles }),
      ),
    removeEntries: (positions: readonly Position[]) =>
      write(
        'removal of entries',
        () => expiry.removeEntries(positions),
        () => ({ kind: 'entries removed', positions }),
      ),
    oldestRecords: (count) => expiry.oldestRecords(count),
    removeRecords: (positions) =>
      write(
        'removal of records',
        () => expiry.removeRecords(positions),
        () => ({ kind: 'records removed', positions }),
      ),
    imagesAfter: (cursor, count) => expiry.imagesAfter(cursor, Math.min(count, pageMax)),
    removeImages: (images) =>
      write(
        'removal of images',
        () => expiry.removeImages(images),
        (removed) => ({
          kind: 'images removed',
          images: images.filter(({ key }) => removed.some((gone) => isSameKey(gone, key))),
        }),
      ),
    outcomesAfter: (cursor, count) => expiry.outcomesAfter(cursor, Math.min(count, pageMax)),
    removeOutcomes: (outcomes) => {
      const isStored = (placementId: string): boolean => memory.readOutcome(placementId) !== undefined
      let before: typeof outcomes = []
      return write(
        'removal of outcomes',
        () => {
          before = outcomes.filter(({ placementId }) => isStored(placementId))
          return expiry.removeOutcomes(outcomes)
        },
        () => ({
          kind: 'outcomes removed',
          outcomes: before.filter(({ placementId }) => !isStored(placementId)),
        }),
      )
    },
  }
}

function isSameKey(one: ImageKey, other: ImageKey): boolean {
  return one.gallId === other.gallId && one.postNo === other.postNo && one.position === other.position
}
