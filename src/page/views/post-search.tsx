/** Post, before one is chosen: a search over titles, galleries and numbers, of pending posts and of those that left last. */
import { useState } from 'preact/hooks'
import { ago, cycleLabel, integer, rank, score } from '../format.js'
import { t, word } from '../messages/index.js'
import type { LeftPosts, Picks } from '../service/api.js'
import { useNowMs } from '../service/clock.js'
import { useQuery } from '../service/query.js'
import { Badge, Missing, Panel, Text } from '../parts/common.js'
import { Table } from '../parts/table.js'
import { postAddress } from '../router.js'
import { stateTones } from '../parts/data-table.js'
import { unscoredText, useSettled } from './picks.js'
import { PostLink } from './post-link.js'

const shownMax = 15
const searchDelayMs = 250

export function PostSearch() {
  const [search, setSearch] = useState('')
  // Half of a surrogate pair cannot be part of an address.
  const wanted = useSettled(search, searchDelayMs).trim().toWellFormed()
  return (
    <div class="view">
      <div class="list-head">
        <h1>{t.frame.posts}</h1>
        <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
          <input
            type="search"
            class="wide"
            aria-label={t.post.findLabel}
            placeholder={t.post.findLabel}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
        </form>
      </div>
      <DirectLink search={wanted} />
      <PendingPosts search={wanted} />
      <LeftList search={wanted} />
    </div>
  )
}

/** A gallery and a number name a post, even one that left before the posts that are searched. */
function DirectLink({ search }: { readonly search: string }) {
  const [, gallId, postNo] = /^(\S+)[\s/·]+(\d{1,16})$/.exec(search) ?? []
  if (gallId === undefined || postNo === undefined) return null
  return (
    <p>
      <a class="button" href={postAddress(gallId, postNo)}>
        <Text>{t.post.openNumber(`${gallId} · ${postNo}`)}</Text>
      </a>
    </p>
  )
}

function PendingPosts({ search }: { readonly search: string }) {
  const query = search === '' ? 'order=newest' : `q=${encodeURIComponent(search)}`
  const { data, error } = useQuery<Picks>(`/api/picks?limit=${shownMax}&${query}`, { refreshOn: ['cycle'] })
  const nowMs = useNowMs()
  const title = data === null || search === '' ? t.post.recent : t.post.pendingFound(integer(data.matching))
  return (
    <Panel title={title}>
      {data === null ? (
        <Missing error={error} what={t.data.picks} />
      ) : data.picks.length === 0 ? (
        <p class="empty">{t.post.noPending}</p>
      ) : (
        <Table
          caption={title}
          isCaptionHidden
          rows={data.picks}
          rowKey={({ gall_id, post_no }) => `${gall_id} ${post_no}`}
          columns={[
            { title: t.picks.post, cell: (pick) => <PostLink post={pick} /> },
            {
              title: t.post.extracted,
              cell: ({ extracted_at }) => (extracted_at === null ? '–' : ago(extracted_at, nowMs)),
            },
            { title: t.picks.rank, kind: 'number', cell: (pick) => rank(pick.rank) },
            {
              title: t.picks.score,
              kind: 'number',
              cell: (pick) => (pick.score === null ? unscoredText(pick) : score(pick.score)),
            },
          ]}
        />
      )}
    </Panel>
  )
}

function LeftList({ search }: { readonly search: string }) {
  const query = search === '' ? '' : `&q=${encodeURIComponent(search)}`
  const { data, error } = useQuery<LeftPosts>(`/api/left?limit=${shownMax}${query}`, { refreshOn: ['cycle'] })
  const title =
    data === null || search === '' ? t.post.leftRecently : t.post.leftFound(integer(data.matching))
  return (
    <Panel title={title}>
      {data === null ? (
        <Missing error={error} what={t.data.left} />
      ) : data.posts.length === 0 ? (
        <p class="empty">{t.post.noLeft(integer(data.searched))}</p>
      ) : (
        <Table
          caption={title}
          isCaptionHidden
          rows={data.posts}
          rowKey={({ gall_id, post_no, cycle_id }) => `${gall_id} ${post_no} ${cycle_id}`}
          columns={[
            { title: t.picks.post, cell: (post) => <PostLink post={post} /> },
            {
              title: t.post.outcome,
              cell: ({ reason, tier }) => (
                <>
                  <Badge tone={stateTones[reason] ?? 'plain'}>{word(reason)}</Badge>
                  {tier !== null && <Badge tone="accent">{tier}</Badge>}
                </>
              ),
            },
            { title: t.explain.left, kind: 'number', cell: ({ cycle_id }) => cycleLabel(cycle_id) },
          ]}
        />
      )}
    </Panel>
  )
}
