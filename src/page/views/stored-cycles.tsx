/** The cycles of the store, newest first, also those from before the start of the service. */
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { ApiError, ListedCycle, StoredPage } from '../service/api.js'
import { useQuery } from '../service/query.js'
import { counted, daySeconds } from '../format.js'
import { t } from '../messages/index.js'
import { Missing } from '../parts/common.js'
import { ListView } from '../parts/list-view.js'
import { VirtualTable, type VirtualColumn } from '../parts/virtual-table.js'
import { Downloads, StoredDetails } from './call-details.js'

/** Cycles are read in blocks of consecutive positions: the position of a stored cycle never changes. */
const blockSize = 100
/** Beyond this number, the blocks that were read first are dropped. */
const blockCountMax = 20
const address = `/api/cycles?list=stored&limit=${blockSize}`

interface Stored {
  readonly count: number | null
  readonly error: ApiError | null
  /** Index 0 is the newest one; undefined: not read yet. */
  readonly at: (index: number) => ListedCycle | undefined
  readonly onRange: (first: number, end: number) => void
}

function useStored(): Stored {
  const { data, error } = useQuery<StoredPage>(address, { refreshOn: ['cycle'] })
  const [blocks, setBlocks] = useState<ReadonlyMap<number, StoredPage>>(new Map())
  const [range, setRange] = useState({ first: 0, end: 0 })
  const { newest = 0, oldest = 1 } = data ?? {}
  const find = (position: number): ListedCycle | undefined =>
    [data, blocks.get(Math.floor(position / blockSize))]
      // After a restart the store may be another one.
      .flatMap((page) => (page?.instance === data?.instance ? (page?.items ?? []) : []))
      .find((cycle) => cycle.position === position)
  const positions = Array.from({ length: range.end - range.first }, (_, i) => newest - range.first - i)
  const missing = positions.find((position) => position >= oldest && find(position) === undefined)
  const block = missing === undefined ? null : Math.floor(missing / blockSize)
  const page = useQuery<StoredPage>(block === null ? null : `${address}&before=${(block + 1) * blockSize}`)
  const read = page.data
  useEffect(() => {
    if (read !== null && block !== null)
      setBlocks((before) => new Map([...before, [block, read] as const].slice(-blockCountMax)))
  }, [read])
  return {
    count: data && newest - oldest + 1,
    error,
    at: (index) => find(newest - index),
    onRange: useCallback((first, end) => setRange({ first, end }), []),
  }
}

export function StoredCycles({ choice }: { readonly choice: ComponentChildren }) {
  const { count, error, at, onRange } = useStored()
  const [selected, setSelected] = useState<string | null>(null)
  return (
    <ListView
      title={t.frame.cycles}
      head={
        <>
          {choice}
          {count !== null && <p class="muted list-note">{counted(count, t.cycles.storedCount)}</p>}
        </>
      }
      aside={
        selected && <StoredDetails key={selected} cycleId={selected} onClose={() => setSelected(null)} />
      }
    >
      {count === null ? (
        <Missing error={error} what={t.data.stored} />
      ) : count === 0 ? (
        <p class="empty">{t.cycles.noneStored}</p>
      ) : (
        <VirtualTable
          kind="stored-rows"
          caption={t.cycles.storedCaption}
          columns={columnsOf(setSelected)}
          rowHeights={[44, 84]}
          rowKey={(index) => at(index)?.position ?? -index}
          isSelected={({ cycleId }) => cycleId === selected}
          count={count}
          at={at}
          onRange={onRange}
        />
      )}
    </ListView>
  )
}

function columnsOf(onSelect: (cycleId: string) => void): readonly VirtualColumn<ListedCycle>[] {
  return [
    {
      title: t.cycles.cycle,
      class: 'cycle',
      width: '124px',
      cell: ({ cycleId }) => (
        <button class="row-link clip" type="button" onClick={() => onSelect(cycleId)}>
          {cycleId}
        </button>
      ),
    },
    { title: t.cycles.arrived, width: '156px', cell: ({ receivedAt }) => daySeconds(receivedAt) },
    {
      title: t.cycles.model,
      class: 'clip',
      width: 'minmax(90px, 1fr)',
      from: 0,
      cell: ({ modelVersion }) => modelVersion,
    },
    {
      title: t.cycles.weights,
      class: 'clip muted',
      width: 'minmax(90px, 1fr)',
      from: 800,
      cell: ({ weightsVersion }) => weightsVersion,
    },
    {
      title: t.cycles.download,
      class: 'files',
      width: '224px',
      cell: ({ cycleId }) => <Downloads cycleId={cycleId} />,
    },
  ]
}
