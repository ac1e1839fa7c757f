/**
 * `/api/posts/{gall_id}/{post_no}/images/{position}`: the normalised JPEG of an image. Its address on the page contains its
 * SHA-256, so a browser caches it without revalidation.
 */
import { ServiceError, shownHashChars, type ImageFacts } from '../../contract/index.js'
import type { ServerSources } from '../../server/index.js'
import type { ImageKey } from '../../store/index.js'
import type { Reply } from '../routes.js'

/** The stored images of a post, at most `countMax`. */
export function imagesOf(
  { cycles, store }: ServerSources,
  { gallId, postNo }: Omit<ImageKey, 'position'>,
  countMax: number,
): ImageFacts[] {
  return cycles.images
    .positions(gallId, postNo)
    .slice(0, countMax)
    .flatMap((position) => {
      const hash = store.readImageHash({ gallId, postNo, position })
      return hash === undefined ? [] : { position, sha256: hexOf(hash) }
    })
}

/** `sha256`: of the address; null: none. Throws `not_found`. */
export function image({ store }: ServerSources, key: ImageKey, sha256: string | null): Reply {
  const stored = store.findImage(key)
  if (stored === undefined || (sha256 !== null && sha256 !== hexOf(stored.sha256)))
    throw new ServiceError({ code: 'no_image' })
  const headers = {
    'Content-Type': 'image/jpeg',
    ...(sha256 === null ? {} : { 'Cache-Control': 'private, max-age=31536000, immutable' }),
  }
  return { status: 200, headers, body: stored.normalised }
}

function hexOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('hex').slice(0, shownHashChars)
}
