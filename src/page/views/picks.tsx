/** Picks: the pending posts by rank, and beside them what the operators saved last. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { HeadName } from '../../contract/index.js'
import type { Pick, PostFacts } from '../service/api.js'
import { age, compact, cycleLabel, integer, score, words } from '../format.js'
import { useMedia } from '../parts/clock.js'
import { Badge, Missing } from '../parts/common.js'
import { Sparkline } from '../parts/sparkline.js'
import { Thumbnail } from '../parts/thumbnail.js'
import { Cell, VirtualTable } from '../parts/virtual-table.js'
import { postAddress } from '../router.js'
import { usePickWindows, type PickWindows } from './pick-windows.js'
import { Saves } from './saves.js'

const columns = [
  { name: 'rank', title: 'Rank' },
  { name: 'post', title: 'Post' },
  { name: 'score', title: 'Score' },
  { name: 'heads', title: 'Heads' },
  { name: 'age', title: 'Age' },
  { name: 'views', title: 'Views' },
  { name: 'ups', title: 'Up' },
  { name: 'downs', title: 'Down' },
  { name: 'comments', title: 'Comments' },
]

export const heads: readonly { readonly name: HeadName; readonly label: string }[] = [
  { name: 'p_views', label: 'views' },
  { name: 'p_comments', label: 'comments' },
  { name: 'p_up', label: 'up' },
  { name: 'downvote_share', label: 'downvotes' },
]

const searchDelayMs = 250

export function Picks() {
  const [search, setSearch] = useState('')
  const [gallery, setGallery] = useState('')
  const { view, error, onRange } = usePickWindows({ search: useSettled(search, searchDelayMs), gallery })
  const isNarrow = useMedia('(max-width: 719px)')
  return (
    <div class="view fills with-aside">
      <div class="list">
        <div class="list-head">
          <h1>Picks</h1>
          <Filters {...{ search, setSearch, gallery, setGallery, galleries: view?.galleries ?? [] }} />
          <p class="muted list-note">{view === null ? '' : <Note view={view} />}</p>
        </div>
        {view === null ? (
          <Missing error={error} what="picks" />
        ) : view.matching === 0 ? (
          <p class="empty">{view.pending === 0 ? 'No post is pending.' : 'No pending post matches.'}</p>
        ) : (
          <VirtualTable
            kind="picks-rows"
            caption="Pending posts by rank"
            columns={columns}
            count={view.matching}
            rowHeight={isNarrow ? 76 : 52}
            rowKey={(index) => index}
            row={(index) => {
              const pick = view.at(index)
              return pick && <PickCells pick={pick} rank={index + 1} isFiltered={view.isFiltered} />
            }}
            onRange={onRange}
          />
        )}
      </div>
      <Saves saves={view?.saves ?? []} isFolded={isNarrow} />
    </div>
  )
}

function Note({ view }: { readonly view: PickWindows }) {
  const { matching, pending, cycleId, modelVersion } = view
  return (
    <>
      {matching === pending ? integer(pending) : `${integer(matching)} of ${integer(pending)}`} pending
      {cycleId === null ? ', no scores yet' : `, scores of ${cycleLabel(cycleId)} by ${modelVersion ?? '–'}`}
    </>
  )
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
        aria-label="Search titles, galleries and numbers"
        placeholder="Search"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <select
        aria-label="Gallery"
        value={gallery}
        onChange={(event) => setGallery(event.currentTarget.value)}
      >
        <option value="">All galleries</option>
        {galleries.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    </form>
  )
}

function PickCells({
  pick,
  rank,
  isFiltered,
}: {
  readonly pick: Pick
  readonly rank: number
  readonly isFiltered: boolean
}) {
  const { gall_id, post_no, title, images, sparkline } = pick
  return (
    <>
      <Cell name="rank">
        {pick.score === null ? '–' : isFiltered ? <span class="muted">{rank}</span> : rank}
      </Cell>
      <Cell name="post">
        <Thumbnail gallId={gall_id} postNo={post_no} position={images[0]} />
        <div class="post-title">
          <a href={postAddress(gall_id, post_no)}>
            {title === null || title === '' ? 'without a title' : title}
          </a>
          <span class="muted">
            {gall_id} · {post_no}
          </span>
          <span class="muted narrow-only">
            {ageText(pick)} · {compact(pick.counters.views)} views · {compact(pick.counters.comment_cnt)}{' '}
            comments
          </span>
        </div>
      </Cell>
      <Cell name="score">
        {pick.score === null ? (
          <Unscored pick={pick} />
        ) : (
          <>
            <b>{score(pick.score)}</b>
            <Sparkline values={sparkline} />
          </>
        )}
      </Cell>
      <Cell name="heads">
        <Heads facts={pick} />
      </Cell>
      <Cell name="age">{ageText(pick)}</Cell>
      <CounterCell name="views" count={pick.counters.views} rate={pick.rates_per_hour.views} />
      <CounterCell name="ups" count={pick.counters.up} rate={pick.rates_per_hour.up} />
      <CounterCell name="downs" count={pick.counters.down} rate={pick.rates_per_hour.down} />
      <CounterCell name="comments" count={pick.counters.comment_cnt} rate={pick.rates_per_hour.comment_cnt} />
    </>
  )
}

function ageText({ age_s }: PostFacts): string {
  return age_s === null ? '–' : age(age_s * 1000)
}

function Unscored({ pick: { status, reason } }: { readonly pick: PostFacts }) {
  return <Badge tone="plain">{words(reason ?? status ?? 'no score yet')}</Badge>
}

/** The heads that the model has, as small bars with their values. */
export function Heads({ facts }: { readonly facts: PostFacts }) {
  return (
    <span class="heads">
      {heads.map(({ name, label }) => {
        const value = facts[name] ?? null
        return value === null ? null : (
          <span key={name} class="head" title={`${label} ${score(value)}`}>
            <meter min={0} max={1} value={value} aria-label={label} />
          </span>
        )
      })}
    </span>
  )
}

interface CounterProps {
  readonly name: string
  readonly count: number | null | undefined
  readonly rate: number | null | undefined
}

function CounterCell({ name, count, rate }: CounterProps) {
  return (
    <Cell name={name}>
      {compact(count)}
      {rate !== null && rate !== undefined && rate !== 0 && (
        <span class="muted rate">
          {rate > 0 ? '+' : ''}
          {compact(rate)}/h
        </span>
      )}
    </Cell>
  )
}

/** The last value that has not changed for a while. */
function useSettled(value: string, delayMs: number): string {
  const [settled, setSettled] = useState(value)
  const settle = useCallback(() => setSettled(value), [value])
  useEffect(() => {
    const timer = setTimeout(settle, delayMs)
    return () => clearTimeout(timer)
  }, [settle, delayMs])
  return settled
}
