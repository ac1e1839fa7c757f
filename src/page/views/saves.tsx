/** What the operators saved last, with the rank that the model had given it one cycle before. */
import type { Save } from '../service/api.js'
import { cycleLabel, integer, rank, score } from '../format.js'
import { t } from '../messages/index.js'
import { Badge, Disclosure, Since } from '../parts/common.js'
import { Table, type Column } from '../parts/table.js'
import { useIsBelow } from '../parts/virtual-table.js'
import { PostLink } from './post-link.js'

interface SavesProps {
  readonly saves: readonly Save[]
  /** The start of the service; null: not read yet. */
  readonly startedAt: string | null
}

/** Each is a stop of the Tab key: the others are on demand. */
const shownCount = 12

export function Saves({ saves, startedAt }: SavesProps) {
  const more = saves.slice(shownCount)
  const list = (
    <>
      <Since startedAt={startedAt} />
      {saves.length === 0 ? (
        <p class="empty">{t.picks.noSaves}</p>
      ) : (
        <SavesTable saves={saves.slice(0, shownCount)} />
      )}
      {more.length > 0 && (
        <Disclosure title={t.picks.moreSaves(integer(more.length))}>
          {() => <SavesTable saves={more} />}
        </Disclosure>
      )}
    </>
  )
  // Beside the picks if there is room, else on demand: the picks keep their height.
  return useIsBelow('1199px') ? (
    <details class="panel folded">
      <summary>{t.picks.savesCount(integer(saves.length))}</summary>
      {list}
    </details>
  ) : (
    <aside class="aside panel" aria-label={t.picks.saves}>
      <h2>{t.picks.saves}</h2>
      {list}
    </aside>
  )
}

function SavesTable({ saves }: Pick<SavesProps, 'saves'>) {
  return (
    <Table
      caption={t.picks.savesCaption}
      isCaptionHidden
      rows={saves}
      rowKey={(save) => `${save.cycle_id} ${save.gall_id} ${save.post_no}`}
      columns={columnsOf()}
    />
  )
}

const columnsOf = (): readonly Column<Save>[] => [
  {
    title: t.picks.post,
    cell: (save) => (
      <>
        <PostLink post={save} />
        <small class="muted">{cycleLabel(save.cycle_id)}</small>
      </>
    ),
  },
  { title: t.picks.tier, cell: ({ tier }) => (tier === null ? '–' : <Badge tone="accent">{tier}</Badge>) },
  {
    title: t.picks.rank,
    kind: 'number',
    cell: (save) => t.units.ofCount(rank(save.rank), integer(save.of)),
  },
  { title: t.picks.score, kind: 'number', cell: (save) => score(save.score) },
]
