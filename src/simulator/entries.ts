/**
 * Which posts enter in a cycle: how many, in which galleries, with which numbers. Numbers grow with time, as on a real board.
 * Those of a cycle are drawn from the options and the start of the simulation; simulations that do not share a cycle do not share
 * a post.
 */
import { hourMs } from '../base/index.js'
import { assert, cycleBoundaryMs, kstTimeOfDay, type GalleryType, type PostKey } from '../contract/index.js'
import { Rng } from './rng.js'

/** Change this when the same options produce different posts than before. */
const worldVersion = 4

const names = 'cat baseball_new programming stock_us coffee camera_old hiking game_classic'.split(' ')
const types: readonly GalleryType[] = ['main', 'minor', 'mini']

/** Relative number of posts by hour of the day in KST: lowest from three to seven, highest in the evening. */
const hourWeights = [
  9, 6, 4, 2.5, 2, 2, 2.5, 4, 6.5, 8.5, 9.5, 10, 11, 10.5, 10, 10, 10.5, 11, 11.5, 12, 13, 13.5, 13, 11.5,
]
const hourWeightMean = hourWeights.reduce((sum, weight) => sum + weight, 0) / hourWeights.length

/** A post's number is the five-minute step of its first cycle, counted from 1970, times this, plus a random part. */
const numbersPerCycle = 100
/** The number of a cycle that no post has: readings of unknown posts use it. */
const unknownPart = numbersPerCycle - 1
/** Boards of real clients have smaller numbers than a cycle of this time. */
const simulatedFromMs = Date.UTC(2000, 0)

/** What the posts of a simulation depend on, besides its start. */
export interface WorldIdentity {
  readonly seed: number | string
  readonly hours: number
  readonly postsPerDay: number
  readonly galleries: number
  /** Share of the posts with images whose images are uploaded. */
  readonly imageShare: number
}

export interface Gallery {
  /** `gall_id` on the wire. */
  readonly id: string
  readonly type: GalleryType
  readonly categoryId: number | null
  /** Share of the posts, relative to the other galleries. */
  readonly weight: number
}

export interface PostEntry {
  readonly gallery: Gallery
  readonly postNo: number
}

export function galleriesOf({ galleries }: Pick<WorldIdentity, 'galleries'>): Gallery[] {
  return Array.from({ length: galleries }, (_, index) => {
    const round = Math.floor(index / names.length)
    return {
      id: names[index % names.length]! + (round === 0 ? '' : String(round + 1)),
      type: types[index % types.length]!,
      categoryId: index % 7 === 6 ? null : ((index * 13) % 90) + 1,
      weight: 1 / (1 + index * 0.35),
    }
  })
}

/** The posts that enter in a cycle of a simulation. `index`: of the cycle, from 0. */
export function entriesOf(identity: WorldIdentity, startAtMs: number, index: number): PostEntry[] {
  const { seed, hours, postsPerDay, galleries: galleryCount, imageShare } = identity
  const options = [worldVersion, seed, hours, postsPerDay, galleryCount, imageShare]
  const rng = new Rng('entries', ...options, startAtMs, index)
  const cycleAtMs = startAtMs + (index + 1) * cycleBoundaryMs
  const hour = Math.floor(kstTimeOfDay(cycleAtMs - 1) / hourMs)
  const share = hourWeights[hour]! / hourWeightMean
  const count = rng.poisson((postsPerDay * share * cycleBoundaryMs) / (24 * hourMs))
  assert(count < unknownPart, 'a cycle has fewer posts than numbers')
  const parts = new Set<number>()
  while (parts.size < count) parts.add(rng.int(0, unknownPart - 1))
  const galleries = galleriesOf(identity)
  const weights = galleries.map(({ weight }) => weight)
  return [...parts].map((part) => ({
    gallery: galleries[rng.weighted(weights)]!,
    postNo: firstNumberOf(cycleAtMs) + part,
  }))
}

/** A number that no post of the cycle has. */
export function unknownPostNo(cycleAtMs: number): number {
  return firstNumberOf(cycleAtMs) + unknownPart
}

/** Whether a post belongs to a simulation, whatever its options. */
export function isSimulated({ gall_id, post_no }: PostKey): boolean {
  return names.includes(gall_id) && post_no >= firstNumberOf(simulatedFromMs)
}

function firstNumberOf(cycleAtMs: number): number {
  return (cycleAtMs / cycleBoundaryMs) * numbersPerCycle
}
