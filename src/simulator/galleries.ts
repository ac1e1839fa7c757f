/**
 * Galleries of a simulation. Every simulation has galleries of its own: their names end with a tag that encodes the
 * options and the start, so that a restarted client recognises its own posts on the service and resumes.
 */
import { cycleBoundaryMs, type GalleryType } from '../contract/index.js'
import { hashText } from './rng.js'

/** Change this when the same options give other posts than before, so that no older simulation is resumed. */
const worldVersion = 1

const names =
  'cat baseball_new programming stock_us coffee camera_old hiking keyboard game_classic movie2 travel_asia car_talk'.split(
    ' ',
  )

/** What the posts of a simulation depend on, besides its start. */
export interface WorldIdentity {
  readonly seed: number | string
  readonly hours: number
  readonly postsPerDay: number
  readonly galleries: readonly string[]
  readonly imageShare: number
}

export interface Gallery {
  /** `gall_id` on the wire. */
  readonly id: string
  /** Without the tag. */
  readonly name: string
  readonly type: GalleryType
  readonly categoryId: number | null
  /** Share of the posts, relative to the other galleries. */
  readonly weight: number
}

/** `count` different gallery names. */
export function galleryNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / names.length)
    return (names[index % names.length] as string) + (round === 0 ? '' : String(round + 1))
  })
}

export function galleriesOf(identity: WorldIdentity, startAtMs: number): Gallery[] {
  const tag = tagOf(identity, startAtMs)
  return identity.galleries.map((name, index) => ({
    id: `${name}_${tag}`,
    name,
    type: (['main', 'minor', 'mini'] as const)[hashText(name) % 3] as GalleryType,
    categoryId: hashText(name) % 7 === 0 ? null : (hashText(name) % 90) + 1,
    weight: 1 / (1 + index * 0.35),
  }))
}

/** `r`, the start in five-minute steps since 1970, `x`, a digest of the identity; numbers in base 36. */
function tagOf(identity: WorldIdentity, startAtMs: number): string {
  return `r${(startAtMs / cycleBoundaryMs).toString(36)}x${digestOf(identity)}`
}

function digestOf(identity: WorldIdentity): string {
  const { seed, hours, postsPerDay, galleries, imageShare } = identity
  return hashText(
    JSON.stringify([worldVersion, String(seed), hours, postsPerDay, galleries, imageShare]),
  ).toString(36)
}

const tagPattern = /_r([0-9a-z]+)x([0-9a-z]+)$/

/** Whether a gallery belongs to a simulation, whatever its options. */
export function isSimulated(gallId: string): boolean {
  return tagPattern.test(gallId)
}

/** Start of the simulation that a gallery belongs to, or null if it has another identity. */
export function startOf(identity: WorldIdentity, gallId: string): number | null {
  const match = tagPattern.exec(gallId)
  if (match === null || match[2] !== digestOf(identity)) return null
  return parseInt(match[1] as string, 36) * cycleBoundaryMs
}
