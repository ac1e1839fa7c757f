/** Picks: the pending posts by rank, and next to them what the operators saved last. */
import { useEffect, useState } from 'preact/hooks'
import type { CounterName, HeadName } from '../../contract/index.js'
import type { Pick, Picks as PickList, PostFacts } from '../service/api.js'
import { compact, cycleLabel, integer, rank, rate, score, duration } from '../format.js'
import { t, word } from '../messages/index.js'
import { Badge, colorOf, Missing, Swatch, Text } from '../parts/common.js'
import { ListView } from '../parts/list-view.js'
import { Sparkline } from '../parts/sparkline.js'
import { Thumbnail } from '../parts/thumbnail.js'
import { VirtualTable, type VirtualColumn } from '../parts/virtual-table.js'
import { postAddress } from '../router.js'
import { usePickWindow } from './pick-windows.js'
import { Saves } from './saves.js'

export const heads: readonly {
  readonly name: HeadName
  readonly color: number
}[] = [
  { name: 'p_views', color: 1 },
  { name: 'p_comments', color: 3 },
  { name: 'p_up', color: 2 },
  { name: 'downvote_share', color: 5 },
]

const searchDelayMs = 250

/** The filter of the last visit to this view: a way back from a post leads to the same posts. */
let kept = { search: '', gallery: '' }

const columnsOf = (): readonly VirtualColumn<Pick>[] => [
  { title: t.picks.rank, class: 'rank number muted', width: '44px', cell: (pick) => rank(pick.rank) },
  {
    title: t.picks.post,
    class: 'post',
    width: 'minmax(160px, 1fr)',
    cell: (pick) => <PostCell pick={pick} />,
  },
  { title: t.picks.score, class: 'score', width: '128px', cell: (pick) => <ScoreCell pick={pick} /> },
  { title: t.picks.heads, width: '84px', from: 700, cell: (pick) => <Heads facts={pick} /> },
  { title: t.picks.age, class: 'number', width: '52px', from: 0, cell: ageText },
  counterColumn(t.picks.views, 'views', 0),
  counterColumn(t.picks.up, 'up', 0),
  counterColumn(t.picks.down, 'down', 960),
  counterColumn(t.picks.comments, 'comment_cnt', 0),
]

function counterColumn(title: string, counter: CounterName, from: number): VirtualColumn<Pick> {
  return {
    title,
    from,
    class: 'number',
    width: 'minmax(54px, 68px)',
    cell: ({ counters, rates_per_hour }) => (
      <>
        {compact(counters[counter])}
        <span class="muted rate">{rate(rates_per_hour[counter])}</span>
      </>
    ),
  }
}

export function Picks() {
  const [search, setSearch] = useState(kept.search)
  const [gallery, setGallery] = useState(kept.gallery)
  useEffect(() => {
    kept = { search, gallery }
  }, [search, gallery])
  const filter = { search: useSettled(search, searchDelayMs), gallery }
  const { picks, error, isOfOtherFilter, galleries, at, onRange } = usePickWindow(filter)
  return (
    <ListView
      title={t.frame.picks}
      isLoading={isOfOtherFilter}
      head={
        <>
          <Filters
            search={search}
            setSearch={setSearch}
            gallery={gallery}
            setGallery={setGallery}
            galleries={galleries}
          />
          <p class="muted list-note">
            {isOfOtherFilter ? t.parts.loading(t.data.picks) : picks && noteOf(picks)}
          </p>
          <HeadLegend />
        </>
      }
      aside={<Saves saves={picks?.saves ?? []} startedAt={picks?.started_at ?? null} />}
    >
      {(picks === null || error !== null) && <Missing error={error} what={t.data.picks} />}
      {picks?.matching === 0 && (
        <p class="empty">{picks.pending === 0 ? t.picks.nonePending : t.picks.noneMatches}</p>
      )}
      {picks !== null && picks.matching > 0 && (
        <VirtualTable
          kind="picks-rows"
          caption={t.picks.caption}
          count={picks.matching}
          rowHeights={[52, 76]}
          rowKey={(index) => index}
          columns={columnsOf()}
          at={at}
          onRange={onRange}
        />
      )}
    </ListView>
  )
}

function noteOf({ matching, pending, scored, cycle_id, model_version }: PickList): string {
  const count = matching === pending ? integer(pending) : t.units.countOf(integer(matching), integer(pending))
  const source =
    cycle_id === null
      ? t.picks.noScores
      : t.picks.scoredIn(integer(scored), cycleLabel(cycle_id), model_version ?? '–')
  return t.picks.pending(count, source)
}

interface FilterProps {
  readonly search: string
  readonly setSearch: (text: string) => void
  readonly gallery: string
  readonly setGallery: (gallery: string) => void
  readonly galleries: readonly string[]
}

function Filters({ search, setSearch, gallery, setGallery, galleries }: FilterProps) {
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        aria-label={t.picks.searchLabel}
        placeholder={t.picks.search}
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <select
        aria-label={t.picks.gallery}
        value={gallery}
        onChange={(event) => setGallery(event.currentTarget.value)}
      >
        <option value="">{t.picks.allGalleries}</option>
        {galleries.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    </form>
  )
}

function PostCell({ pick }: { readonly pick: Pick }) {
  const { gall_id, post_no, title, images, counters } = pick
  return (
    <>
      <Thumbnail gallId={gall_id} postNo={post_no} image={images[0]} />
      <div class="post-title">
        <a class="clip" href={postAddress(gall_id, post_no)}>
          {title === null || title === '' ? t.parts.withoutTitle : <Text isKorean>{title}</Text>}
        </a>
        <span class="clip muted">
          <Text>{gall_id}</Text> · {post_no}
        </span>
        <span class="clip muted narrow-only">
          {t.picks.short(ageText(pick), compact(counters.views), compact(counters.comment_cnt))}
        </span>
      </div>
    </>
  )
}

function ScoreCell({ pick }: { readonly pick: Pick }) {
  if (pick.score === null) return <Badge tone="plain">{unscoredText(pick)}</Badge>
  return (
    <>
      <b>{score(pick.score)}</b>
      <Sparkline values={pick.sparkline} />
    </>
  )
}

/** Why a post has no score. */
export function unscoredText({ status, reason }: PostFacts): string {
  const known = reason ?? status
  return known === null ? t.picks.noScore : word(known)
}

function ageText({ age_s }: PostFacts): string {
  return age_s === null ? '–' : duration(age_s * 1000)
}

/** Which prediction each of the small bars is. Shown where their column is: from 700 pixels on. */
function HeadLegend() {
  return (
    <ul class="legend heads-legend" aria-label={t.picks.heads}>
      {heads.map(({ name, color }) => (
        <li key={name}>
          <Swatch color={color} /> {t.explain.heads[name]}
        </li>
      ))}
    </ul>
  )
}

/** The heads that the model has, as small bars with their values. */
export function Heads({ facts }: { readonly facts: PostFacts }) {
  return (
    <span class="heads">
      {heads.map(({ name, color }) => {
        const value = facts[name] ?? null
        const text = `${t.explain.heads[name]} ${score(value)}`
        return value === null ? null : (
          <span key={name} class="head" role="img" aria-label={text} title={text}>
            <span style={{ width: `${100 * value}%`, background: colorOf(color) }} />
          </span>
        )
      })}
    </span>
  )
}

/** The last value that has not changed for a while. */
export function useSettled(value: string, delayMs: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs)
    return () => clearTimeout(timer)
  }, [value, delayMs])
  return settled
}
