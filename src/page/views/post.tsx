/** Post: one post with its counters, scores, images, text, visits, and why its score is what it is. */
import { useMemo } from 'preact/hooks'
import { postPath, type Post, type TimelineEntry } from '../service/api.js'
import type { Explanation } from '../../contract/index.js'
import { useQuery } from '../service/query.js'
import { compact, counted, dayClock, decimal, duration, integer, rank, score } from '../format.js'
import { t, word } from '../messages/index.js'
import { Chart, seriesOf } from '../parts/chart.js'
import { Badge, Missing, Text, Tile, type Fact } from '../parts/common.js'
import { Explained, VisitCycles, Visits } from './explained.js'
import { LeftContent, LeftTiles } from './left-post.js'
import { heads, unscoredText } from './picks.js'
import { CountersTile, Images, PostText } from './post-content.js'
import { PostSearch } from './post-search.js'

export function PostView({ segments }: { readonly segments: readonly string[] }) {
  const [gallId, postNo] = segments
  if (gallId === undefined || postNo === undefined || !/^\d{1,16}$/.test(postNo)) return <PostSearch />
  return (
    <div class="view">
      <OnePost key={`${gallId} ${postNo}`} gallId={gallId} postNo={Number(postNo)} />
    </div>
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
  const title = post?.candidate.title ?? history.data?.candidate?.title ?? ''
  const isKnown = post !== null || history.data !== null
  const { data: explanation } = history
  const isLeft = pending.error?.status === 404
  return (
    <>
      <header class="post-head">
        <p class="crumbs">
          <a href="#/picks">← {t.post.back}</a> <a href="#/posts">{t.post.find}</a>
        </p>
        <h1>{title !== '' ? <Text isKorean>{title}</Text> : isKnown ? t.post.untitled : t.frame.posts}</h1>
        <p class="muted">
          <Text isKorean>{gallId}</Text> · {postNo}{' '}
          {isLeft && isKnown && <Badge tone="plain">{t.post.notPending}</Badge>}
        </p>
      </header>
      {post !== null && <PendingTiles post={post} />}
      {post === null && isLeft && explanation !== null && <LeftTiles explanation={explanation} />}
      {explanation !== null && <Explained explanation={explanation} />}
      {post !== null && <PendingContent post={post} />}
      {post === null && isLeft && explanation !== null && (
        <LeftContent gallId={gallId} postNo={postNo} explanation={explanation} />
      )}
      {explanation !== null ? (
        <>
          <Visits explanation={explanation} />
          <VisitCycles explanation={explanation} />
        </>
      ) : (
        (post === null || history.error?.status !== 404) && (
          <Missing error={history.error} what={t.data.history} loading={t.data.historyRead} />
        )
      )}
    </>
  )
}

function PendingTiles({ post }: { readonly post: Post }) {
  const { counters, rates_per_hour: rates, timeline, images } = post
  const newest = timeline.at(-1)
  return (
    <div class="tiles">
      <Tile
        title={t.post.score}
        value={score(post.score)}
        unit={newest?.rank ? t.units.rankOf(rank(newest.rank), integer(newest.of)) : null}
        facts={[
          [t.post.status, post.score === null ? unscoredText(post) : null],
          ...heads.map(({ name }): Fact => [
            t.explain.heads[name],
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
  )
}

function PendingContent({ post }: { readonly post: Post }) {
  const { timeline, images, gall_id, post_no, candidate } = post
  return (
    <>
      {timeline.length > 1 && <Timeline entries={timeline} />}
      <Images gallId={gall_id} postNo={post_no} images={images} />
      <PostText html={candidate.body_html ?? null} />
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
        format={rank}
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
