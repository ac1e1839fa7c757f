/** The calls of the flight recorder: the newest page, older pages on demand, and each call as it happens. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { getJson, type ApiError, type Call, type Calls } from '../service/api.js'
import { useEvent } from '../service/connection.js'
import { useQuery } from '../service/query.js'

/** As many as the server keeps. */
const callCountMax = 1000
const otherCallCountMax = 200
const pageSize = 200
const cyclesOperation = 'POST /v1/cycles'

export interface RecordedCalls {
  /** Newest first; null: not read yet. */
  readonly calls: readonly Call[] | null
  readonly otherCalls: readonly Call[] | null
  readonly error: ApiError | null
  readonly readOlder: () => void
}

export function useCalls(): RecordedCalls {
  const { data, error } = useQuery<Calls>(`/api/cycles?limit=${pageSize}`)
  const [calls, setCalls] = useState<readonly Call[] | null>(null)
  const [otherCalls, setOtherCalls] = useState<readonly Call[] | null>(null)
  /** The id before which older calls have been asked for. */
  const asked = useRef(0)
  useEffect(() => {
    if (data === null) return
    setCalls((before) => withArrived(data.calls, before ?? []))
    setOtherCalls((before) => withArrived(data.other_calls, before ?? []))
    asked.current = 0
  }, [data])
  useEvent(
    'call',
    useCallback((call: Call) => {
      if (call.operation === cyclesOperation)
        setCalls((before) => withNewest(call, before ?? []).slice(0, callCountMax))
      else if (call.result !== 'done')
        setOtherCalls((before) => withNewest(call, before ?? []).slice(0, otherCallCountMax))
    }, []),
  )
  const oldestId = calls?.at(-1)?.id
  const readOlder = useCallback(() => {
    if (oldestId === undefined || oldestId <= 1 || asked.current === oldestId) return
    asked.current = oldestId
    getJson<Calls>(`/api/cycles?limit=${pageSize}&before=${oldestId}`).then(
      (older) =>
        setCalls((before) =>
          [...(before ?? []), ...older.calls.filter(({ id }) => id < oldestId)].slice(0, callCountMax),
        ),
      () => (asked.current = 0),
    )
  }, [oldestId])
  return { calls, otherCalls, error, readOlder }
}

/** Pages of the recorder and events overlap; ids fall from newest to oldest. */
function withNewest(call: Call, calls: readonly Call[]): Call[] {
  return [call, ...calls.filter(({ id }) => id < call.id)]
}

/** A page, with the calls that arrived while it was read. Ids begin anew at a start of the service; times do not. */
function withArrived(page: readonly Call[], calls: readonly Call[]): Call[] {
  const [newest] = page
  if (newest === undefined) return []
  return [...calls.filter(({ id, at }) => id > newest.id && at >= newest.at), ...page]
}
