/**
 * The picks around those on the screen, read in one window that moves as the reader scrolls. Until the next window arrives,
 * the rows of the one before stay; those of another filter stay, too, marked as such, unless the request fails.
 */
import { useCallback, useRef, useState } from 'preact/hooks'
import type { ApiError, Pick, Picks } from '../service/api.js'
import { useQuery } from '../service/query.js'

export interface PickFilter {
  readonly search: string
  /** Empty: all. */
  readonly gallery: string
}

interface PickWindow {
  /** Null: nothing has been read. */
  readonly picks: Picks | null
  /** Why the rows on the screen cannot be read. */
  readonly error: ApiError | null
  /** `picks` is of the filter before this one. */
  readonly isOfOtherFilter: boolean
  /** Kept from the last response after a failure: the choice of a gallery stays. */
  readonly galleries: readonly string[]
  /** Undefined: not read yet. */
  readonly at: (index: number) => Pick | undefined
  readonly onRange: (first: number) => void
}

/** A window starts at a multiple of it, so that a screen of up to 100 rows lies within one window. */
const windowStep = 50
const windowSize = 3 * windowStep

export function usePickWindow({ search, gallery }: PickFilter): PickWindow {
  const [offset, setOffset] = useState(0)
  const filter = new URLSearchParams({
    ...(search === '' ? {} : { q: search }),
    ...(gallery === '' ? {} : { gallery }),
  }).toString()
  const path = `/api/picks?offset=${offset}&limit=${windowSize}&${filter}`
  const { data, error } = useQuery<Picks>(path, { refreshOn: ['cycle'] })
  const last = useRef<ReadPicks | null>(null)
  if (data !== null) last.current = { filter, picks: data }
  return {
    ...shownPicks(last.current, filter, data === null ? error : null),
    onRange: useCallback((first) => setOffset(windowStart(first)), []),
  }
}

/** Picks with the filter for which they were read. */
interface ReadPicks {
  readonly filter: string
  readonly picks: Picks
}

/** The offset of the window for a screen whose first row is `first`. */
export function windowStart(first: number): number {
  return first - (first % windowStep)
}

/** `error`: of the request for the window, if it has failed. */
export function shownPicks(
  last: ReadPicks | null,
  filter: string,
  error: ApiError | null,
): Omit<PickWindow, 'onRange'> {
  const isOfFilter = last?.filter === filter
  const picks = isOfFilter || error === null ? (last?.picks ?? null) : null
  return {
    picks,
    error,
    isOfOtherFilter: picks !== null && !isOfFilter,
    galleries: last?.picks.galleries ?? [],
    at: (index) => picks?.picks[index - picks.offset],
  }
}
