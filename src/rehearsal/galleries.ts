/**
 * The galleries of a rehearsal. Every rehearsal has galleries of its own: their names end with a tag that tells
 * whose they are and when the rehearsal begins, so that a client that starts afresh can recognise its own posts
 * on the service and take the rehearsal up again.
 */
import { cycleBoundaryMs, type GalleryType } from '../contract/index.js'
import { hashText } from './rng.js'

/** Change this when the same options give other posts than before, so that no old rehearsal is taken up. */
const worldVersion = 1

const names: readonly string[] = [
  'cat',
  'baseball_new',
  'programming',
  'stock_us',
  'coffee',
  'camera_old',
  'hiking',
  'keyboard',
  'game_classic',
  'movie2',
  'travel_asia',
  'car_talk',
]

/** What a rehearsal's posts depend on, besides the moment it begins. */
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
  /** Its part of all posts, against those of the others. */
  readonly weight: number
}

/** `count` gallery names, each once. */
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

/** `r`, the beginning in five-minute steps since 1970, `x`, a digest of the rest; numbers in base 36. */
function tagOf(identity: WorldIdentity, startAtMs: number): string {
  return `r${(startAtMs / cycleBoundaryMs).toString(36)}x${digestOf(identity)}`
}

function digestOf(identity: WorldIdentity): string {
  const { seed, hours, postsPerDay, galleries, imageShare } = identity
  return hashText(
    JSON.stringify([worldVersion, String(seed), hours, postsPerDay, galleries, imageShare]),
  ).toString(36)
}

/** When the rehearsal began that a gallery belongs to, or null if it is none of this identity. */
export function startOf(identity: WorldIdentity, gallId: string): number | null {
  const match = /_r([0-9a-z]+)x([0-9a-z]+)$/.exec(gallId)
  if (match === null || match[2] !== digestOf(identity)) return null
  return parseInt(match[1] as string, 36) * cycleBoundaryMs
}
