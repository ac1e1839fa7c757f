/**
 * A table of which only the visible rows exist, so that thousands of rows scroll smoothly. All rows have one height. The
 * columns are those of a CSS grid, named by `kind` in the style sheet. j and k, or the arrow keys within the table, move
 * between the links of the rows; Tab goes to those of one row and then leaves the table.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isTyping } from './typing.js'

export interface VirtualTableProps {
  /** Class of the grid, for example `picks-rows`. */
  readonly kind: string
  readonly caption: string
  readonly columns: readonly { readonly name: string; readonly title: string }[]
  readonly count: number
  /** Pixels. */
  readonly rowHeight: number
  /** The cells of a row; `Cell` draws one. Undefined: it has not been read yet. */
  readonly row: (index: number) => ComponentChildren | undefined
  readonly rowKey: (index: number) => string | number
  readonly isSelected?: (index: number) => boolean
  /** Receives the indices of the visible rows, the second one excluded. */
  readonly onRange?: (first: number, end: number) => void
}

/** Rows above and below the visible ones. */
const overscan = 6

export function VirtualTable(props: VirtualTableProps) {
  const { kind, caption, columns, count, rowHeight, row, rowKey, isSelected, onRange } = props
  const scrollerRef = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const first = Math.max(0, Math.min(count, Math.floor(view.top / rowHeight) - overscan))
  const end = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscan)
  useEffect(() => watchScrolling(scrollerRef.current, setView), [])
  useEffect(() => onRange?.(first, end), [onRange, first, end, count])
  const current = useRef(0)
  const orderTabs = (): void => {
    // The row that had the focus last, or the first one if that row does not exist any more.
    const tabRow = Math.max(first, Math.min(current.current, end - 1))
    for (const link of scrollerRef.current?.querySelectorAll<HTMLElement>(rowLinks) ?? [])
      link.tabIndex = rowIndexOf(link) === tabRow ? 0 : -1
  }
  // Before the next key: an effect after painting would come too late.
  useLayoutEffect(orderTabs)
  useLayoutEffect(() => moveByKeys(scrollerRef.current, rowHeight, count), [rowHeight, count])
  return (
    <div
      class="scroller"
      ref={scrollerRef}
      role="region"
      aria-label={caption}
      tabIndex={0}
      onFocusIn={({ target }) => {
        current.current = rowIndexOf(target) ?? current.current
        orderTabs()
      }}
    >
      <div class={`rows ${kind}`} role="table" aria-label={caption} aria-rowcount={count + 1}>
        <div class="rows-head" role="rowgroup">
          <div class="row" role="row" aria-rowindex={1}>
            {columns.map(({ name, title }) => (
              <div key={name} class={`cell ${name}`} role="columnheader">
                {title}
              </div>
            ))}
          </div>
        </div>
        <div class="rows-body" role="rowgroup" style={{ height: `${count * rowHeight}px` }}>
          {Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i).map((index) => (
            <div
              key={rowKey(index)}
              class={isSelected?.(index) === true ? 'row selected' : 'row'}
              role="row"
              aria-rowindex={index + 2}
              data-index={index}
              style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
            >
              {row(index) ?? <PendingCells columns={columns} />}
            </div>
          ))}
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

export function Cell({ name, children }: { readonly name: string; readonly children?: ComponentChildren }) {
  return (
    <div class={`cell ${name}`} role="cell">
      {children}
    </div>
  )
}

function PendingCells({ columns }: Pick<VirtualTableProps, 'columns'>) {
  return (
    <>
      {columns.map(({ name }) => (
        <Cell key={name} name={name}>
          <span class="pending" />
        </Cell>
      ))}
    </>
  )
}

function watchScrolling(
  scroller: HTMLDivElement | null,
  onView: (view: { readonly top: number; readonly height: number }) => void,
): (() => void) | undefined {
  if (scroller === null) return
  let frame = 0
  const measure = (): void => {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      onView({ top: scroller.scrollTop, height: scroller.clientHeight })
    })
  }
  measure()
  scroller.addEventListener('scroll', measure, { passive: true })
  const observer = new ResizeObserver(measure)
  observer.observe(scroller)
  return () => {
    cancelAnimationFrame(frame)
    scroller.removeEventListener('scroll', measure)
    observer.disconnect()
  }
}

/** The focus moves to the link or button of the next row, which may have to be scrolled into existence first. */
function moveByKeys(
  scroller: HTMLDivElement | null,
  rowHeight: number,
  count: number,
): (() => void) | undefined {
  if (scroller === null) return
  const onKey = (event: KeyboardEvent): void => {
    const current = rowIndexOf(document.activeElement)
    const steps: Readonly<Record<string, number>> =
      current === undefined ? { j: 1, k: -1 } : { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key] ?? 0
    if (step === 0 || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    const visible = Math.ceil(scroller.scrollTop / rowHeight)
    const next = current === undefined ? visible : current + step
    if (next < 0 || next >= count) return
    event.preventDefault()
    showRow(scroller, next * rowHeight, rowHeight)
    focusRow(scroller, next, 10)
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

function showRow(scroller: HTMLDivElement, top: number, rowHeight: number): void {
  const headHeight = scroller.querySelector('.rows-head')?.clientHeight ?? 0
  const bottom = top + rowHeight + headHeight
  if (top < scroller.scrollTop) scroller.scrollTop = top
  else if (bottom > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom - scroller.clientHeight
}

function focusRow(scroller: HTMLDivElement, index: number, attempts: number): void {
  const target = scroller.querySelector<HTMLElement>(`[data-index="${index}"] :is(a, button)`)
  if (target !== null) target.focus({ preventScroll: true })
  else if (attempts > 0) requestAnimationFrame(() => focusRow(scroller, index, attempts - 1))
}
