/**
 * Records to store in tests. Child processes of tests import this file as it is, so it imports nothing else of the sources but types.
 */
import { hash } from 'node:crypto'
import type { WeightsSetting } from '../../src/pool/index.js'
import type { CycleContents, StoredImage } from '../../src/store/index.js'

export function bytesOf(...values: readonly number[]): Uint8Array {
  return Uint8Array.from(values)
}

/** The cycle id of sample `number`, 0 to 9999. */
export function cycleIdAt(number: number): string {
  return `20260101T${String(number).padStart(4, '0')}`
}

/** A small cycle whose bytes depend on its number; `overrides` replaces members. */
export function cycleSample(number: number, overrides: Partial<CycleContents> = {}): CycleContents {
  const request = overrides.request ?? {
    encoding: 'identity',
    bytes: bytesOf(123, number & 255, 125),
    bodyBytes: 3,
  }
  const response = overrides.response ?? bytesOf(1, number & 255)
  return {
    cycleId: cycleIdAt(number),
    cycleAtMs: 1_767_200_000_000 + number * 300_000,
    receivedAt: '2026-01-01T00:00:01.234Z',
    modelVersion: `model-${number}`,
    weightsVersion: 'initial',
    request,
    requestSha256: hash('sha256', request.bytes),
    response,
    responseSha256: hash('sha256', response),
    record: bytesOf(3, number & 255),
    texts: null,
    ...overrides,
  }
}

/** A cycle of a given size, filled with a byte that depends on its number, so that a torn one shows. */
export function largeCycleSample(number: number, partBytes: number): CycleContents {
  const part = (offset: number) => new Uint8Array(partBytes).fill((number + offset) & 255)
  return cycleSample(number, {
    request: { encoding: 'identity', bytes: part(0), bodyBytes: partBytes },
    response: part(1),
    record: part(2),
  })
}

export function imageSample(number: number): StoredImage {
  return {
    sha256: new Uint8Array(32).fill(number),
    uploadedBytes: 5_242_880 - number,
    width: 65_535,
    height: 1 + number,
    normalised: new Uint8Array(100 + number).fill(number),
  }
}

export function weightsSample(version: string, views: number): WeightsSetting {
  return {
    version,
    weights: { views, comments: 0.2, up: 0.3, downvote_share: 0 },
    note: '메모 \ud800',
    setAtMs: 1_767_200_000_123,
    firstCycleMs: 1_767_200_100_000,
  }
}
