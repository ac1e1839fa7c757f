/** A picture of a post, small; an empty frame where the service has none. */
import { postPath } from '../service/api.js'

interface ThumbnailProps {
  readonly gallId: string
  readonly postNo: number
  readonly position: number | undefined
}

export function Thumbnail({ gallId, postNo, position }: ThumbnailProps) {
  if (position === undefined) return <span class="thumbnail" />
  return (
    <img
      class="thumbnail"
      src={imageAddress(gallId, postNo, position)}
      alt=""
      loading="lazy"
      decoding="async"
    />
  )
}

export function imageAddress(gallId: string, postNo: number, position: number): string {
  return `${postPath(gallId, postNo)}/images/${position}`
}
