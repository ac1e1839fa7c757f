/** Post: one post with its counters, scores, images, text, visits, and why its score is what it is. */
import type { TargetedSubmitEvent } from 'preact'
import { useMemo } from 'preact/hooks'
import { postPath, type Post, type TimelineEntry } from '../service/api.js'
import type { Explanation } from '../../contract/index.js'
import { useQuery } from '../service/query.js'
import { compact, counted, dayClock, decimal, duration, integer, score } from '../format.js'
import { t, word } from '../messages/index.js'
import { Chart, seriesOf } from '../parts/chart.js'
import { Badge, Missing, Text, Tile, type Fact } from '../parts/common.js'
import { postAddress } from '../router.js'
import { Explained, VisitCycles, Visits } from './explained.js'
import { LeftPost } from './left-post.js'
import { heads, unscoredText } from './picks.js'
import { CountersTile, Images, PostText } from './post-content.js'

export function PostView({ segments }: { readonly segments: readonly string[] }) {
  const [gallId, postNo] = segments
  return (
    <div class="view">
      {gallId === undefined || postNo === undefined || !/^\d{1,16}$/.test(postNo) ? (
        <h1>{t.frame.posts}</h1>
      ) : (
        <OnePost key={`${gallId} ${postNo}`} gallId={gallId} postNo={Number(postNo)} />
      )}
      <Lookup />
    </div>
  )
}

function Lookup() {
  const open = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [gallId, postNo] = [form.get('gallery'), form.get('number')]
    if (typeof gallId === 'string' && typeof postNo === 'string') location.hash = postAddress(gallId, postNo)
  }
  return (
    <form class="lookup panel" onSubmit={open}>
      <h2>{t.post.open}</h2>
      <div class="filters">
        <input
          name="gallery"
          placeholder={t.post.gallery}
          aria-label={t.post.gallery}
          required
          autocomplete="off"
        />
        <input
          name="number"
          placeholder={t.post.number}
          aria-label={t.post.number}
          required
          inputMode="numeric"
          pattern="\d{1,16}"
          autocomplete="off"
        />
        <button class="button">{t.post.openButton}</button>
      </div>
    </form>
  )
}

interface PostKey {
  readonly gallId: string
  readonly postNo: number
}

function OnePost({ gallId, postNo }: PostKey) {
  const path = postPath(gallId, postNo)
  const pending = useQuery<Post>(path, { refreshOn: ['cycle'] })
  const history = useQuery<Explanation>(`${path}/history`, { refreshOn: ['cycle'] })
  const post = pending.error?.status === 404 ? null : pending.data
  const title = post?.candidate.title ?? history.data?.candidate?.title
  const isKnown = post !== null || history.data !== null
  return (
    <>
      <header class="post-head">
        <h1>{title === undefined || title === '' ? t.post.untitled : <Text isKorean>{title}</Text>}</h1>
        <p class="muted">
          <Text isKorean>{gallId}</Text> · {postNo}{' '}
          {pending.error?.status === 404 && isKnown && <Badge tone="plain">{t.post.notPending}</Badge>}
        </p>
      </header>
      {post !== null ? (
        <Pending post={post} />
      ) : (
        history.data !== null &&
        pending.error?.status === 404 && (
          <LeftPost gallId={gallId} postNo={postNo} explanation={history.data} />
        )
      )}
      {history.data !== null ? (
        <>
          <Visits explanation={history.data} />
          <VisitCycles cycles={history.data.cycles} />
          <Explained explanation={history.data} />
        </>
      ) : (
        (post === null || history.error?.status !== 404) && (
          <Missing error={history.error} what={t.data.postHistory} />
        )
      )}
    </>
  )
}

function Pending({ post }: { readonly post: Post }) {
  const { counters, rates_per_hour: rates, timeline, images, gall_id, post_no } = post
  const newest = timeline.at(-1)
  return (
    <>
      <div class="tiles">
        <Tile
          title={t.post.score}
          value={score(post.score)}
          unit={newest?.rank ? t.units.rankOf(integer(newest.rank), integer(newest.of)) : null}
          facts={[
            [t.post.status, post.score === null ? unscoredText(post) : null],
            ...heads.map(({ name }): Fact => [
              t.post.heads[name],
              typeof post[name] === 'number' ? decimal(post[name]) : null,
            ]),
          ]}
        />
        <CountersTile title={t.post.counters} counters={counters} rates={rates} readAt={post.observed_at} />
        <Tile
          title={t.post.origin}
          value={post.age_s === null ? '–' : duration(post.age_s * 1000)}
          unit={t.post.old}
          facts={[
            [t.post.written, dayClock(post.created_at)],
            [t.post.extracted, dayClock(post.extracted_at)],
            [t.post.source, post.source === null ? '–' : word(post.source)],
            [t.post.images, t.units.countOf(integer(images.length), integer(post.candidate.images_in_post))],
          ]}
        />
      </div>
      {timeline.length > 1 && <Timeline entries={timeline} />}
      <Images gallId={gall_id} postNo={post_no} images={images} />
      <PostText html={post.candidate.body_html ?? null} />
    </>
  )
}

function Timeline({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  const chart = useMemo(() => {
    const ordered = [...entries].sort((a, b) => Date.parse(a.cycle_time) - Date.parse(b.cycle_time))
    const line = seriesOf(ordered)
    return {
      times: ordered.map(({ cycle_time }) => Date.parse(cycle_time)),
      scores: [line(t.post.score, 1, (entry) => entry.score)],
      ranks: [line(t.post.rank, 4, (entry) => entry.rank)],
      views: [line(word('views'), 1, ({ counters }) => counters.views)],
      counters: [
        line(word('up'), 2, ({ counters }) => counters.up),
        line(word('comment_cnt'), 3, ({ counters }) => counters.comment_cnt),
        line(word('down'), 5, ({ counters }) => counters.down),
      ],
    }
  }, [entries])
  return (
    <section class="charts" aria-label={t.post.timeline(counted(entries.length, t.units.cycles))}>
      <Chart title={t.post.score} times={chart.times} series={chart.scores} format={score} min={null} />
      <Chart
        title={t.post.rank}
        times={chart.times}
        series={chart.ranks}
        format={integer}
        min={1}
        isUpsideDown
        isCount
      />
      <Chart
        title={t.picks.views}
        times={chart.times}
        series={chart.views}
        format={compact}
        min={null}
        isCount
      />
      <Chart title={t.post.counters} times={chart.times} series={chart.counters} format={compact} isCount />
    </section>
  )
}
