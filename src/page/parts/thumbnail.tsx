/** A small image of a post; an empty frame if the service has none. */
import { shownHashChars } from '../../contract/page-facts.js'
import { postPath, type ImageFacts } from '../service/api.js'

interface ThumbnailProps {
  readonly gallId: string
  readonly postNo: number
  readonly image: ImageFacts | undefined
}

export function Thumbnail({ gallId, postNo, image }: ThumbnailProps) {
  if (image === undefined) return <span class="thumbnail" />
  return (
    <img class="thumbnail" src={imageAddress(gallId, postNo, image)} alt="" loading="lazy" decoding="async" />
  )
}

/** Each content has a separate address: browsers keep it. */
export function imageAddress(gallId: string, postNo: number, { position, sha256 }: ImageFacts): string {
  return `${postPath(gallId, postNo)}/images/${position}?sha256=${sha256.slice(0, shownHashChars)}`
}
