/** The calls of the flight recorder: what has been read of them, and each call as it happens. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import { cyclesOperation, recordedCallsMax } from '../../contract/page-facts.js'
import { getJson, type ApiError, type Call, type ListPage } from './api.js'
import { useEvent, type Events } from './connection.js'
import { useQuery } from './query.js'

const pageSize = 200
export type CallList = keyof typeof recordedCallsMax

/** Newest first. */
export type Recorded = Pick<ListPage<Call>, 'instance' | 'items'>

interface RecordedCalls extends Recorded {
  readonly isRead: boolean
  readonly error: ApiError | null
}

export function useCalls(list: CallList): RecordedCalls {
  const { data, error } = useQuery<Recorded>(`/api/cycles?list=${list}`, { read: readAll })
  const [known, setKnown] = useState<Recorded>({ instance: '', items: [] })
  const add = useCallback(
    (change: Recorded) => setKnown((before) => mergedCalls(before, change, recordedCallsMax[list])),
    [list],
  )
  useEffect(() => {
    if (data !== null) add(data)
  }, [data, add])
  useEvent(
    'call',
    useCallback(
      ({ instance, ...call }: Events['call']) => {
        const isOfCycle = call.operation === cyclesOperation
        if (isOfCycle === (list === 'calls')) add({ instance, items: [call] })
      },
      [list, add],
    ),
  )
  return { ...known, isRead: data !== null, error }
}

/** Page by page, so that no single response takes the service long. */
export async function readAll(path: string, signal: AbortSignal): Promise<Recorded> {
  const items: Call[] = []
  for (let instance = '', cursor = ''; ; cursor = `&before=${items.at(-1)?.id ?? 0}`) {
    const page = await getJson<ListPage<Call>>(`${path}&limit=${pageSize}${cursor}`, signal)
    if (instance !== '' && page.instance !== instance) return readAll(path, signal)
    instance = page.instance
    items.push(...page.items)
    if (page.is_last) return { instance, items }
  }
}

/** Unordered, each call once. Ids start again in each process of the service, whose calls replace those of another one. */
export function mergedCalls(before: Recorded, { instance, items }: Recorded, count: number): Recorded {
  const kept = before.instance === instance ? before.items : []
  const byId = new Map([...kept, ...items].map((call) => [call.id, call]))
  return { instance, items: [...byId.values()].sort((a, b) => b.id - a.id).slice(0, count) }
}
