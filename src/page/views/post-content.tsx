/** The pictures and the text of a post. */
import { useState } from 'preact/hooks'
import type { ImageFacts } from '../service/api.js'
import { Panel } from '../parts/common.js'
import { plainText } from '../parts/plain-text.js'
import { imageAddress } from '../parts/thumbnail.js'

interface PicturesProps {
  readonly gallId: string
  readonly postNo: number
  readonly images: readonly ImageFacts[]
}

export function Pictures({ gallId, postNo, images }: PicturesProps) {
  if (images.length === 0) return null
  return (
    <Panel title="Pictures">
      <ul class="pictures">
        {images.map((image) => (
          <li key={image.position}>
            <img src={imageAddress(gallId, postNo, image)} alt={`Picture ${image.position}`} loading="lazy" />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** Posts are hostile: their HTML is shown as text, for reading or as it is. */
export function PostText({ html }: { readonly html: string | null }) {
  const [isSource, setIsSource] = useState(false)
  if (html === null || html === '') return null
  return (
    <Panel title="Text">
      <button
        class="button quiet"
        type="button"
        aria-pressed={isSource}
        onClick={() => setIsSource(!isSource)}
      >
        As received
      </button>
      <p class={isSource ? 'post-text source' : 'post-text'} lang="ko">
        {isSource ? html : plainText(html)}
      </p>
    </Panel>
  )
}
