/** The cycles of the store, newest first, also those from before the start of the service. */
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { ApiError, StoredCycle, StoredPage } from '../service/api.js'
import { useQuery } from '../service/query.js'
import { clockSeconds, counted, cycleLabel, day } from '../format.js'
import { useMedia } from '../parts/clock.js'
import { Missing } from '../parts/common.js'
import { Cell, VirtualTable } from '../parts/virtual-table.js'
import { Downloads, StoredDetails } from './call-details.js'

const columns = [
  { name: 'cycle', title: 'Cycle' },
  { name: 'at', title: 'Arrived' },
  { name: 'model', title: 'Model' },
  { name: 'weights', title: 'Weights' },
  { name: 'files', title: 'Download' },
]

/** Cycles are read in blocks of consecutive positions: the position of a stored cycle never changes. */
const blockSize = 100
/** Blocks that the reader has left are forgotten. */
const blockCountMax = 20
const address = `/api/cycles?list=stored&limit=${blockSize}`

interface Stored {
  readonly count: number | null
  readonly error: ApiError | null
  /** By index from the newest one; undefined: not read yet. */
  readonly at: (index: number) => StoredCycle | undefined
  readonly onRange: (first: number, end: number) => void
}

function useStored(): Stored {
  const { data, error } = useQuery<StoredPage>(address, { refreshOn: ['cycle'] })
  const [blocks, setBlocks] = useState<ReadonlyMap<number, StoredPage>>(new Map())
  const [range, setRange] = useState({ first: 0, end: 0 })
  const { newest = 0, oldest = 1 } = data ?? {}
  const find = (position: number): StoredCycle | undefined =>
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
  const close = useCallback(() => setSelected(null), [])
  const isNarrow = useMedia('(max-width: 719px)')
  return (
    <div class={selected === null ? 'view fills' : 'view fills with-details'}>
      <div class="list">
        <div class="list-head">
          <h1>Cycles</h1>
          {choice}
          {count !== null && <p class="muted list-note">{counted(count, 'stored cycle')}</p>}
        </div>
        {count === null ? (
          <Missing error={error} what="stored cycles" />
        ) : count === 0 ? (
          <p class="empty">The store has no cycle.</p>
        ) : (
          <VirtualTable
            kind="stored-rows"
            caption="Stored cycles, newest first"
            columns={columns}
            count={count}
            rowHeight={isNarrow ? 84 : 44}
            rowKey={(index) => at(index)?.position ?? -index}
            isSelected={(index) => selected !== null && at(index)?.cycleId === selected}
            row={(index) => {
              const cycle = at(index)
              return cycle && <StoredCells cycle={cycle} onSelect={() => setSelected(cycle.cycleId)} />
            }}
            onRange={onRange}
          />
        )}
      </div>
      {selected !== null && <StoredDetails key={selected} cycleId={selected} onClose={close} />}
    </div>
  )
}

interface StoredCellsProps {
  readonly cycle: StoredCycle
  readonly onSelect: () => void
}

function StoredCells({ cycle, onSelect }: StoredCellsProps) {
  const { cycleId, receivedAt, modelVersion, weightsVersion } = cycle
  return (
    <>
      <Cell name="cycle">
        <button class="row-link" type="button" onClick={onSelect}>
          {cycleLabel(cycleId)}
        </button>
      </Cell>
      <Cell name="at">
        {day(receivedAt)} {clockSeconds(receivedAt)}
      </Cell>
      <Cell name="model">
        <span class="clip">{modelVersion}</span>
      </Cell>
      <Cell name="weights">
        <span class="clip muted">{weightsVersion}</span>
      </Cell>
      <Cell name="files">
        <Downloads cycleId={cycleId} />
      </Cell>
    </>
  )
}
