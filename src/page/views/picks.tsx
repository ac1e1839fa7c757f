/** Picks: the pending posts by rank, and next to them what the operators saved last. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { HeadName } from '../../contract/index.js'
import type { Pick, PostFacts } from '../service/api.js'
import { age, compact, cycleLabel, integer, rate, score, words } from '../format.js'
import { useMedia } from '../parts/clock.js'
import { Badge, colorOf, Missing, Text } from '../parts/common.js'
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

export const heads: readonly {
  readonly name: HeadName
  readonly label: string
  readonly color: number
}[] = [
  { name: 'p_views', label: 'views', color: 1 },
  { name: 'p_comments', label: 'comments', color: 3 },
  { name: 'p_up', label: 'up', color: 2 },
  { name: 'downvote_share', label: 'downvotes', color: 5 },
]

const searchDelayMs = 250

export function Picks() {
  const [search, setSearch] = useState('')
  const [gallery, setGallery] = useState('')
  const filter = { search: useSettled(search, searchDelayMs), gallery }
  const { view, error, isOfOtherFilter, galleries, onRange } = usePickWindows(filter)
  const isNarrow = useMedia('(max-width: 719px)')
  return (
    <div class="view fills with-aside">
      <div class={isOfOtherFilter ? 'list is-loading' : 'list'} aria-busy={isOfOtherFilter}>
        <div class="list-head">
          <h1>Picks</h1>
          <Filters {...{ search, setSearch, gallery, setGallery, galleries }} />
          <p class="muted list-note">
            {isOfOtherFilter ? 'Loading picks' : view === null ? '' : <Note view={view} />}
          </p>
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
              return pick && <PickCells pick={pick} />
            }}
            onRange={onRange}
          />
        )}
      </div>
      <Saves saves={view?.saves ?? []} startedAt={view?.startedAt ?? null} isFolded={isNarrow} />
    </div>
  )
}

function Note({ view }: { readonly view: PickWindows }) {
  const { matching, pending, scored, cycleId, modelVersion } = view
  return (
    <>
      {matching === pending ? integer(pending) : `${integer(matching)} of ${integer(pending)}`} pending
      {cycleId === null
        ? ', no scores yet'
        : `, ${integer(scored)} scored in ${cycleLabel(cycleId)} by ${modelVersion ?? '–'}`}
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

function PickCells({ pick }: { readonly pick: Pick }) {
  const { gall_id, post_no, title, images, sparkline } = pick
  return (
    <>
      <Cell name="rank">{integer(pick.rank)}</Cell>
      <Cell name="post">
        <Thumbnail gallId={gall_id} postNo={post_no} image={images[0]} />
        <div class="post-title">
          <a href={postAddress(gall_id, post_no)}>
            {title === null || title === '' ? 'without a title' : <Text isKorean>{title}</Text>}
          </a>
          <span class="muted">
            <Text>{gall_id}</Text> · {post_no}
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
      <CounterCells facts={pick} />
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
      {heads.map(({ name, label, color }) => {
        const value = facts[name] ?? null
        const text = `${label} ${score(value)}`
        return value === null ? null : (
          <span key={name} class="head" role="img" aria-label={text} title={text}>
            <span style={{ width: `${100 * value}%`, background: colorOf(color) }} />
          </span>
        )
      })}
    </span>
  )
}

const counterColumns = [
  { name: 'views', counter: 'views' },
  { name: 'ups', counter: 'up' },
  { name: 'downs', counter: 'down' },
  { name: 'comments', counter: 'comment_cnt' },
] as const

function CounterCells({ facts: { counters, rates_per_hour } }: { readonly facts: PostFacts }) {
  return (
    <>
      {counterColumns.map(({ name, counter }) => (
        <Cell key={name} name={name}>
          {compact(counters[counter])}
          <span class="muted rate">{rate(rates_per_hour[counter])}</span>
        </Cell>
      ))}
    </>
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
