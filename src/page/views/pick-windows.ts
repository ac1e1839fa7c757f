/**
 * The picks that are on the screen, read in windows as the reader scrolls. After a cycle the visible windows are read again;
 * until they arrive, the old rows stay. Rows of another filter stay until the first answer, marked as such, or until it fails.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { apiErrorOf, getJson, type ApiError, type Pick, type Picks, type Save } from '../service/api.js'
import { Attempts } from '../service/attempts.js'
import { connection } from '../service/connection.js'

export interface PickFilter {
  readonly search: string
  /** Empty: all. */
  readonly gallery: string
}

/** What has been read, for one filter. */
export interface PickWindows {
  readonly cycleId: string | null
  readonly modelVersion: string | null
  readonly pending: number
  readonly scored: number
  readonly matching: number
  readonly galleries: readonly string[]
  readonly saves: readonly Save[]
  /** Of the service: `saves` has those since then. */
  readonly startedAt: string
  /** Undefined: not read yet. */
  readonly at: (index: number) => Pick | undefined
}

const windowSize = 100
/** Windows far from the visible ones are forgotten. */
const windowCountMax = 12

interface View {
  readonly view: PickWindows | null
  readonly error: ApiError | null
  /** `view` is of the filter before this one. */
  readonly isOfOtherFilter: boolean
  /** Of the last view, even after a failure: the choice of a gallery stays. */
  readonly galleries: readonly string[]
  readonly onRange: (first: number, end: number) => void
}

export function usePickWindows({ search, gallery }: PickFilter): View {
  const reader = useMemo(() => new WindowReader({ search, gallery }), [search, gallery])
  const [state, setState] = useState<State>({ reader, view: null, error: null, galleries: [] })
  const range = useRef({ first: 0, end: windowSize })
  useEffect(() => {
    reader.listen(
      (view) => setState({ reader, view, error: null, galleries: view.galleries }),
      (error) =>
        setState((before) => ({
          ...before,
          ...{ reader, error, view: before.reader === reader ? before.view : null },
        })),
    )
    reader.show(range.current.first, range.current.end)
    const forget = connection.on((name) => {
      if (name === 'cycle' || name === 'reset') reader.refresh()
    })
    return () => {
      forget()
      reader.stop()
    }
  }, [reader])
  const onRange = useCallback(
    (first: number, end: number) => {
      range.current = { first, end }
      reader.show(first, end)
    },
    [reader],
  )
  const { view, error, galleries } = state
  return { view, error, galleries, isOfOtherFilter: view !== null && state.reader !== reader, onRange }
}

interface State {
  /** The one that `view` and `error` are from. */
  readonly reader: WindowReader
  readonly view: PickWindows | null
  readonly error: ApiError | null
  readonly galleries: readonly string[]
}

class WindowReader {
  readonly #filter: PickFilter
  readonly #abort = new AbortController()
  readonly #attempts = new Attempts('picks', () => this.#read())
  /** By offset. A window with an older generation is shown until its successor arrives. */
  readonly #windows = new Map<number, { readonly generation: number; readonly picks: readonly Pick[] }>()
  readonly #loading = new Set<number>()
  readonly #failed = new Set<number>()
  #generation = 0
  #visible: readonly number[] = [0]
  #onView: (view: PickWindows) => void = () => undefined
  #onError: (error: ApiError) => void = () => undefined

  constructor(filter: PickFilter) {
    this.#filter = filter
  }

  listen(onView: (view: PickWindows) => void, onError: (error: ApiError) => void): void {
    this.#onView = onView
    this.#onError = onError
  }

  show(first: number, end: number): void {
    const offsets: number[] = []
    const start = Math.floor(first / windowSize) * windowSize
    for (let offset = start; offset < Math.max(end, start + 1); offset += windowSize) offsets.push(offset)
    this.#visible = offsets
    for (const offset of this.#failed) if (!offsets.includes(offset)) this.#failed.delete(offset)
    this.#read()
  }

  refresh(): void {
    this.#generation++
    this.#read()
  }

  stop(): void {
    this.#abort.abort()
    this.#attempts.stop()
  }

  #read(): void {
    for (const offset of this.#visible) {
      const isCurrent = this.#windows.get(offset)?.generation === this.#generation
      if (!isCurrent && !this.#loading.has(offset)) void this.#readWindow(offset)
    }
  }

  async #readWindow(offset: number): Promise<void> {
    const { search, gallery } = this.#filter
    const generation = this.#generation
    const query = new URLSearchParams({ offset: String(offset), limit: String(windowSize) })
    if (search !== '') query.set('q', search)
    if (gallery !== '') query.set('gallery', gallery)
    this.#loading.add(offset)
    try {
      const answer = await getJson<Picks>(`/api/picks?${query.toString()}`, this.#abort.signal)
      this.#failed.delete(offset)
      if (this.#failed.size === 0) this.#attempts.succeeded()
      this.#windows.set(offset, { generation, picks: answer.picks })
      this.#forgetFarWindows(offset)
      this.#onView(this.#viewOf(answer))
    } catch (thrown) {
      if (this.#abort.signal.aborted) return
      const error = apiErrorOf(thrown)
      this.#failed.add(offset)
      this.#attempts.failed(error)
      this.#onError(error)
      return
    } finally {
      this.#loading.delete(offset)
    }
    if (generation !== this.#generation) this.#read()
  }

  #forgetFarWindows(offset: number): void {
    const byDistance = [...this.#windows.keys()].sort((a, b) => Math.abs(a - offset) - Math.abs(b - offset))
    for (const far of byDistance.slice(windowCountMax)) this.#windows.delete(far)
  }

  #viewOf(answer: Picks): PickWindows {
    const { cycle_id, model_version, pending, scored, matching, galleries, saves, started_at } = answer
    const windows = new Map(this.#windows)
    return {
      cycleId: cycle_id,
      modelVersion: model_version,
      ...{ pending, scored, matching, galleries, saves, startedAt: started_at },
      at: (index) => windows.get(index - (index % windowSize))?.picks[index % windowSize],
    }
  }
}
