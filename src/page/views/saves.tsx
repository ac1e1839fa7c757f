/** What the operators saved last, with the rank that the model had given it one cycle before. */
import type { Save } from '../service/api.js'
import { cycleLabel, integer, score } from '../format.js'
import { Badge, Since, Text } from '../parts/common.js'
import { Table, type Column } from '../parts/table.js'
import { useIsNarrow } from '../parts/virtual-table.js'
import { postAddress } from '../router.js'

interface SavesProps {
  readonly saves: readonly Save[]
  /** The start of the service; null: not read yet. */
  readonly startedAt: string | null
}

export function Saves({ saves, startedAt }: SavesProps) {
  const list = (
    <>
      <Since startedAt={startedAt} />
      {saves.length === 0 ? (
        <p class="empty">No post has been saved since the service started.</p>
      ) : (
        <Table
          caption="Posts that operators saved, newest first"
          isCaptionHidden
          rows={saves}
          rowKey={(save) => `${save.cycle_id} ${save.gall_id} ${save.post_no}`}
          columns={columns}
        />
      )}
    </>
  )
  // On a narrow screen the list opens on demand.
  return useIsNarrow() ? (
    <details class="panel folded">
      <summary>Latest saves ({saves.length})</summary>
      {list}
    </details>
  ) : (
    <aside class="aside panel" aria-label="Latest saves">
      <h2>Latest saves</h2>
      {list}
    </aside>
  )
}

const columns: readonly Column<Save>[] = [
  {
    title: 'Post',
    cell: (save) => (
      <>
        <a class="clip" href={postAddress(save.gall_id, save.post_no)}>
          <Text>{save.gall_id}</Text>
        </a>
        <small>
          {save.post_no} · {cycleLabel(save.cycle_id)}
        </small>
      </>
    ),
  },
  { title: 'Tier', cell: ({ tier }) => (tier === null ? '–' : <Badge tone="accent">{tier}</Badge>) },
  {
    title: 'Rank',
    kind: 'number',
    cell: ({ rank, of }) => (
      <>
        {integer(rank)} <small>of {integer(of)}</small>
      </>
    ),
  },
  { title: 'Score', kind: 'number', cell: (save) => score(save.score) },
]
