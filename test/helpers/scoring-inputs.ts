/**
 * Scoring inputs for tests: columns filled by a function, and ordinary posts from a seed.
 * Rows, slots and readings are intentionally in different orders, so that a wrong index is detected.
 */
import { mulberry32 } from '../../src/base/mulberry32.js'
import {
  counterNames,
  galleryTypeCodes,
  snapshotNames,
  sourceCodes,
  textMeasureNames,
} from '../../src/contract/index.js'
import type { ModelInputs } from '../../src/model/index.js'

/** Kinds of columns, by the values that they may hold. Kinds that begin with `optional` may hold NaN. */
export type ColumnKind =
  | 'optionalCount'
  | 'count'
  | 'time'
  | 'optionalTime'
  | 'measure'
  | 'flag'
  | 'source'
  | 'galleryType'
  | 'height'

/** The value for a column, such as `engagement.views` or `posts.title.chars`, and a row. */
export type Pick = (kind: ColumnKind, path: string, row: number) => number

export function makeInputs(count: number, cycleAtMs: number, pick: Pick): ModelInputs {
  const slots = Uint32Array.from({ length: count }, (_, row) => 2 * (count - 1 - row) + 1)
  const readings = Uint32Array.from({ length: count }, (_, row) => (row + 1) % count)
  const bySlot = <T extends Float64Array | Uint32Array | Uint8Array>(
    column: T,
    kind: ColumnKind,
    path: string,
  ): T => {
    slots.forEach((slot, row) => (column[slot] = pick(kind, path, row)))
    return column
  }
  const slotCount = 2 * count
  const float = (kind: ColumnKind, path: string) => bySlot(new Float64Array(slotCount), kind, path)
  const uint = (kind: ColumnKind, path: string) => bySlot(new Uint32Array(slotCount), kind, path)
  const byte = (kind: ColumnKind, path: string) => bySlot(new Uint8Array(slotCount), kind, path)
  const byReading = (kind: ColumnKind, path: string): Float64Array => {
    const column = new Float64Array(count)
    readings.forEach((reading, row) => (column[reading] = pick(kind, path, row)))
    return column
  }
  return {
    cycleAtMs,
    count,
    slots,
    readings,
    galleries: ['programming'],
    gallery: new Uint32Array(slotCount),
    posts: {
      createdAtMs: float('optionalTime', 'posts.createdAtMs'),
      createdAtFraction: new Float64Array(slotCount),
      extractedAtMs: float('optionalTime', 'posts.extractedAtMs'),
      extractedAtFraction: new Float64Array(slotCount),
      source: byte('source', 'posts.source'),
      manualFlag: byte('flag', 'posts.manualFlag'),
      imagesInPost: float('count', 'posts.imagesInPost'),
      imagesExpected: float('optionalCount', 'posts.imagesExpected'),
      imagePositionsFingerprint: new Uint32Array(slotCount),
      galleryType: byte('galleryType', 'posts.galleryType'),
      categoryId: float('optionalCount', 'posts.categoryId'),
      bodyPresent: byte('flag', 'posts.bodyPresent'),
      title: record(textMeasureNames, (name) => uint('measure', `posts.title.${name}`)),
      body: record(textMeasureNames, (name) => uint('measure', `posts.body.${name}`)),
    },
    engagement: {
      count,
      gallery: new Uint32Array(count),
      postNo: new Float64Array(count),
      status: new Uint8Array(count),
      observedAtMs: byReading('time', 'engagement.observedAtMs'),
      observedAtFraction: new Float64Array(count),
      ...record(counterNames, (name) => byReading('optionalCount', `engagement.${name}`)),
    },
    previous: {
      observedAtMs: float('optionalTime', 'previous.observedAtMs'),
      observedAtFraction: new Float64Array(slotCount),
      ...record(counterNames, (name) => float('optionalCount', `previous.${name}`)),
    },
    snapshot: {
      snapshotAtMs: float('optionalTime', 'snapshot.snapshotAtMs'),
      snapshotAtFraction: new Float64Array(slotCount),
      ...record(snapshotNames, (name) =>
        float(name === 'upimg_height' ? 'height' : 'optionalCount', `snapshot.${name}`),
      ),
    },
    imagesStored: uint('measure', 'imagesStored'),
    imagesEncoded: uint('measure', 'imagesEncoded'),
    textEncoded: byte('flag', 'textEncoded'),
    text: null,
    image: null,
  }
}

/** Ordinary posts of one cycle: Korean titles, counters over several magnitudes, some values missing. */
export function ordinaryInputs(count: number, seed: number): ModelInputs {
  const cycleAtMs = Date.UTC(2026, 5, 1, 3, 0)
  const random = mulberry32(seed)
  const ages = Float64Array.from({ length: count }, () => 60_000 + random() ** 2 * 86_000_000)
  const scales = Float64Array.from({ length: count }, () => Math.exp(6 + 3 * (random() - 0.5)))
  const counters: Record<string, number> = {
    views: 1,
    up: 0.03,
    down: 0.006,
    comment_cnt: 0.03,
    rtb_vote: 0.002,
  }
  return makeInputs(count, cycleAtMs, (kind, path, row) => {
    const name = path.slice(path.lastIndexOf('.') + 1)
    const age = ages[row]!
    const scale = scales[row]!
    if (name === 'createdAtMs') return cycleAtMs - age
    if (name === 'extractedAtMs') return cycleAtMs - age * 0.8
    if (path.startsWith('engagement.') || path.startsWith('previous.')) {
      const before = path.startsWith('previous.')
      if (kind === 'time') return cycleAtMs - Math.floor(random() * 60_000)
      if (kind === 'optionalTime')
        return age > 600_000 ? cycleAtMs - 300_000 - Math.floor(random() * 60_000) : NaN
      if (random() < 0.02) return NaN
      return Math.floor((counters[name] ?? 0) * scale * (before ? 0.9 : 1) * (0.8 + 0.4 * random()))
    }
    switch (kind) {
      case 'optionalTime':
        return scale > 400 ? cycleAtMs - 600_000 : NaN
      case 'optionalCount':
        return scale > 400 ? Math.floor(scale * random() * 0.3) : NaN
      case 'height':
        return Math.floor(random() * 6000)
      case 'flag':
        return random() < (name === 'manualFlag' ? 0.05 : 0.9) ? 1 : 0
      case 'source':
        return Math.floor(random() * sourceCodes.length)
      case 'galleryType':
        return Math.floor(random() * galleryTypeCodes.length)
      case 'measure':
        return ordinaryMeasure(path, name, random)
      default:
        return Math.floor(random() * 4)
    }
  })
}

function ordinaryMeasure(path: string, name: string, random: () => number): number {
  if (path === 'imagesStored' || path === 'imagesEncoded') return Math.floor(random() * 3)
  const chars = path.startsWith('posts.title') ? 22 : 300
  const shares: Record<string, number> = {
    chars: 1,
    hangul: 0.65,
    spaces: 0.2,
    words: 0.2,
    punctuation: 0.06,
  }
  return Math.floor(chars * (shares[name] ?? 0.03) * (0.6 + 0.6 * random()) + random())
}

function record<Name extends string, T>(names: readonly Name[], make: (name: Name) => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>
}
