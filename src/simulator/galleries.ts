/**
 * Galleries of a simulation. Every simulation has its own galleries: their names end with a tag that encodes the
 * options and the start, so that a restarted client recognises its own posts on the service and resumes.
 */
import { createHash } from 'node:crypto'
import { cycleBoundaryMs, type GalleryType } from '../contract/index.js'

/** Change this when the same options produce different posts than before, so that no older simulation is resumed. */
const worldVersion = 3

const names = 'cat baseball_new programming stock_us coffee camera_old hiking game_classic'.split(' ')
const types: readonly GalleryType[] = ['main', 'minor', 'mini']

/** What the posts of a simulation depend on, besides its start. */
export interface WorldIdentity {
  readonly seed: number | string
  readonly hours: number
  readonly postsPerDay: number
  /** Number of galleries. */
  readonly galleries: number
  /** Share of the posts with images whose images are uploaded. */
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

/** The tag is `r`, the start in five-minute steps since 1970 in base 36, `x`, and a digest of the identity. */
export function galleriesOf(identity: WorldIdentity, startAtMs: number): Gallery[] {
  const tag = `r${(startAtMs / cycleBoundaryMs).toString(36)}x${digestOf(identity)}`
  return Array.from({ length: identity.galleries }, (_, index) => {
    const round = Math.floor(index / names.length)
    const name = (names[index % names.length] as string) + (round === 0 ? '' : String(round + 1))
    return {
      id: `${name}_${tag}`,
      name,
      type: types[index % types.length] as GalleryType,
      categoryId: index % 7 === 6 ? null : ((index * 13) % 90) + 1,
      weight: 1 / (1 + index * 0.35),
    }
  })
}

function digestOf({ seed, hours, postsPerDay, galleries, imageShare }: WorldIdentity): string {
  const text = JSON.stringify([worldVersion, String(seed), hours, postsPerDay, galleries, imageShare])
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

const tagPattern = /_r([0-9a-z]+)x([0-9a-z]+)$/

/** Whether a gallery belongs to a simulation, whatever its options. */
export const isSimulated = (gallId: string): boolean => tagPattern.test(gallId)

/** Start of the simulation that a gallery belongs to, or null if it has another identity. */
export function startOf(identity: WorldIdentity, gallId: string): number | null {
  const [, steps, digest] = tagPattern.exec(gallId) ?? []
  return steps === undefined || digest !== digestOf(identity) ? null : parseInt(steps, 36) * cycleBoundaryMs
}
