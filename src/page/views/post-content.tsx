/** The counters, the images and the text of a post. */
import { useState } from 'preact/hooks'
import type { CounterName } from '../../contract/index.js'
import type { ImageFacts, PostFacts } from '../service/api.js'
import { dayClock, integer, rate } from '../format.js'
import { t } from '../messages/index.js'
import { Panel, Tile } from '../parts/common.js'
import { plainText } from '../parts/plain-text.js'
import { imageAddress } from '../parts/thumbnail.js'

interface CountersProps {
  readonly title: string
  readonly counters: PostFacts['counters']
  readonly rates?: PostFacts['rates_per_hour']
  readonly readAt: string | null
}

export function CountersTile({ title, counters, rates = {}, readAt }: CountersProps) {
  const counter = (name: CounterName): string =>
    `${integer(counters[name])}${rates[name] ? ` (${rate(rates[name])})` : ''}`
  return (
    <Tile
      title={title}
      value={integer(counters.views)}
      unit={t.post.views}
      facts={[
        [t.post.up, counter('up')],
        [t.post.down, counter('down')],
        [t.post.comments, counter('comment_cnt')],
        [t.post.rtbVote, counter('rtb_vote')],
        [t.post.read, dayClock(readAt)],
      ]}
    />
  )
}

interface ImagesProps {
  readonly gallId: string
  readonly postNo: number
  readonly images: readonly ImageFacts[]
}

export function Images({ gallId, postNo, images }: ImagesProps) {
  if (images.length === 0) return null
  return (
    <Panel title={t.post.images}>
      <ul class="images">
        {images.map((image) => (
          <li key={image.position}>
            <img
              src={imageAddress(gallId, postNo, image)}
              alt={t.post.image(image.position)}
              loading="lazy"
            />
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
    <Panel title={t.post.text}>
      <button
        class="button quiet"
        type="button"
        aria-pressed={isSource}
        onClick={() => setIsSource(!isSource)}
      >
        {t.post.asReceived}
      </button>
      <p class={isSource ? 'post-text source' : 'post-text'} lang="ko">
        {isSource ? html : plainText(html)}
      </p>
    </Panel>
  )
}
