/** The counters, the images and the text of a post. */
import { useState } from 'preact/hooks'
import type { CounterName } from '../../contract/index.js'
import type { ImageFacts, PostFacts } from '../service/api.js'
import { dayClock, integer, rate } from '../format.js'
import { Panel, Tile } from '../parts/common.js'
import { plainText } from '../parts/plain-text.js'
import { imageAddress } from '../parts/thumbnail.js'

interface CountersProps {
  readonly title: string
  readonly counters: PostFacts['counters']
  /** Per hour. */
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
      unit="views"
      facts={[
        ['Up', counter('up')],
        ['Down', counter('down')],
        ['Comments', counter('comment_cnt')],
        ['Send-to-Best', counter('rtb_vote')],
        ['Read', dayClock(readAt)],
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
    <Panel title="Images">
      <ul class="images">
        {images.map((image) => (
          <li key={image.position}>
            <img src={imageAddress(gallId, postNo, image)} alt={`Image ${image.position}`} loading="lazy" />
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
