/**
 * A table of which only the visible rows exist, so that thousands of rows scroll smoothly. All rows have one height. The
 * columns are those of a CSS grid; on narrow screens the style sheet arranges the cells by its class. j and k, or the arrow
 * keys within the table, move between the links of the rows; Tab goes to those of one row and then leaves the table.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { eventsOf, useWatched } from '../service/topic.js'
import { Guarded } from './guarded.js'
import { isShortcut, useKeys } from './keys.js'

export interface VirtualColumn<Row> {
  readonly title: string
  readonly class?: string
  /** Width of the column in the grid. */
  readonly width: string
  /** Pixels that the table must have for this column. Undefined: it is shown even on a narrow screen. */
  readonly from?: number
  readonly cell: (row: Row) => ComponentChildren
}

export interface VirtualTableProps<Row> {
  /** Class of the grid, for example `picks-rows`. */
  readonly kind: string
  readonly caption: string
  readonly columns: readonly VirtualColumn<Row>[]
  readonly count: number
  /** Pixels; the second one on a narrow screen. */
  readonly rowHeights: readonly [number, number]
  /** Undefined: the row has not been read yet. */
  readonly at: (index: number) => Row | undefined
  readonly rowKey: (index: number) => string | number
  readonly isSelected?: (row: Row) => boolean
  /** Receives the indices of the visible rows, the second one excluded. */
  readonly onRange?: (first: number, end: number) => void
}

/** Whether the screen is at most so wide. The style sheet has the same limits. */
export function useIsBelow(width: '719px' | '1199px'): boolean {
  const [query] = useState(() => matchMedia(`(max-width: ${width})`))
  return useWatched(() => query.matches, eventsOf(query, 'change'))
}

/** Rows above and below the visible ones. */
const overscan = 6

interface View {
  readonly top: number
  readonly height: number
}

/** The rows that exist, the second one excluded: the visible ones and some more. */
export function rowRange(
  { top, height }: View,
  rowHeight: number,
  count: number,
): [first: number, end: number] {
  return [
    Math.max(0, Math.min(count, Math.floor(top / rowHeight) - overscan)),
    Math.min(count, Math.ceil((top + height) / rowHeight) + overscan),
  ]
}

export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { kind, caption, count, rowHeights, at, rowKey, isSelected, onRange } = props
  const scrollerRef = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600, width: 0 })
  const isNarrow = useIsBelow('719px')
  const rowHeight = rowHeights[isNarrow ? 1 : 0]
  const columns = props.columns.filter(({ from }) => from === undefined || (!isNarrow && view.width >= from))
  const [first, end] = rowRange(view, rowHeight, count)
  useLayoutEffect(() => watchScrolling(scrollerRef.current, setView), [])
  useEffect(() => onRange?.(first, end), [onRange, first, end, count])
  const current = useRef(0)
  /** The row that takes the focus as soon as it exists and has been read. */
  const wanted = useRef<number | null>(null)
  const updateFocus = (): void => {
    const links = [...(scrollerRef.current?.querySelectorAll<HTMLElement>(rowLinks) ?? [])]
    links.find((link) => rowIndexOf(link) === wanted.current)?.focus({ preventScroll: true })
    // The row that had the focus last, or the first one if that row no longer exists.
    const tabRow = Math.max(first, Math.min(current.current, end - 1))
    for (const link of links) link.tabIndex = rowIndexOf(link) === tabRow ? 0 : -1
  }
  // Before the next key: an effect after painting would come too late.
  useLayoutEffect(updateFocus)
  useKeys((event) => {
    const next = scrollerRef.current && nextRow(event, scrollerRef.current, rowHeight)
    if (scrollerRef.current === null || next === null || next < 0 || next >= count) return
    event.preventDefault()
    wanted.current = next
    showRow(scrollerRef.current, next * rowHeight, rowHeight)
    updateFocus()
  })
  return (
    <div
      class="scroller"
      ref={scrollerRef}
      role="region"
      aria-label={caption}
      tabIndex={0}
      onFocusIn={({ target }) => {
        current.current = rowIndexOf(target) ?? current.current
        wanted.current = null
        updateFocus()
      }}
    >
      <div
        class={`rows ${kind}`}
        role="table"
        aria-label={caption}
        aria-rowcount={count + 1}
        style={{ '--columns': columns.map(({ width }) => width).join(' ') }}
      >
        <div class="rows-head" role="rowgroup">
          <div class="row" role="row" aria-rowindex={1}>
            {columns.map((column) => (
              <div key={column.title} class={column.class} role="columnheader">
                {column.title}
              </div>
            ))}
          </div>
        </div>
        <div class="rows-body" role="rowgroup" style={{ height: `${count * rowHeight}px` }}>
          {Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i).map((index) => {
            const row = at(index)
            return (
              <div
                key={rowKey(index)}
                class={row !== undefined && isSelected?.(row) ? 'row selected' : 'row'}
                role="row"
                aria-rowindex={index + 2}
                data-index={index}
                style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
              >
                {columns.map((column) => (
                  <div key={column.title} class={column.class} role="cell">
                    {row === undefined ? (
                      <span class="pending" />
                    ) : (
                      <Guarded of={row} draw={() => column.cell(row)} />
                    )}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

const rowLinks = '[data-index] :is(a, button)'

/** Index of the row that contains an element. */
function rowIndexOf(target: EventTarget | null): number | undefined {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null
  return row === null ? undefined : Number(row.dataset['index'])
}

function watchScrolling(
  scroller: HTMLDivElement | null,
  onView: (view: { readonly top: number; readonly height: number; readonly width: number }) => void,
): (() => void) | undefined {
  if (scroller === null) return
  let frame = 0
  const measure = (): void => {
    frame = 0
    onView({ top: scroller.scrollTop, height: scroller.clientHeight, width: scroller.clientWidth })
  }
  const measureSoon = (): void => {
    frame ||= requestAnimationFrame(measure)
  }
  measure()
  scroller.addEventListener('scroll', measureSoon, { passive: true })
  const observer = new ResizeObserver(measureSoon)
  observer.observe(scroller)
  return () => {
    cancelAnimationFrame(frame)
    scroller.removeEventListener('scroll', measureSoon)
    observer.disconnect()
  }
}

/** The row that a key moves the focus to; null: it is another key. */
function nextRow(event: KeyboardEvent, { scrollTop }: HTMLElement, rowHeight: number): number | null {
  const current = rowIndexOf(document.activeElement)
  const steps: Readonly<Record<string, number>> =
    current === undefined ? { j: 1, k: -1 } : { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }
  const step = steps[event.key]
  if (step === undefined || !isShortcut(event)) return null
  return current === undefined ? Math.ceil(scrollTop / rowHeight) : current + step
}

function showRow(scroller: HTMLElement, top: number, rowHeight: number): void {
  const headHeight = scroller.querySelector('.rows-head')?.clientHeight ?? 0
  const bottom = top + rowHeight + headHeight
  if (top < scroller.scrollTop) scroller.scrollTop = top
  else if (bottom > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom - scroller.clientHeight
}
