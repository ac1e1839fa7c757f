/** The cycles of the store, newest first, also those from before the start of the service. */
import { useState } from 'preact/hooks'
import { ApiError, getJson, type Calls, type StoredCycle } from '../service/api.js'
import { useQuery } from '../service/query.js'
import { clockSeconds, cycleLabel, day } from '../format.js'
import { Missing } from '../parts/common.js'
import { Downloads } from './call-details.js'

const pageSize = 100

export function StoredCycles() {
  const { data, error } = useQuery<Calls>(`/api/cycles?limit=${pageSize}`, { refreshOn: ['cycle'] })
  const [older, setOlder] = useState<readonly StoredCycle[]>([])
  const [problem, setProblem] = useState<ApiError | null>(null)
  if (data === null) return <Missing error={error} what="stored cycles" />
  const newest = data.stored
  const oldestNew = newest.at(-1)?.position ?? 0
  const cycles = [...newest, ...older.filter(({ position }) => position < oldestNew)]
  const last = cycles.at(-1)?.position ?? 1
  const readOlder = (): void => {
    getJson<Calls>(`/api/cycles?limit=${pageSize}&stored_before=${last}`).then(
      ({ stored }) => setOlder((before) => [...before, ...stored]),
      (reason: unknown) => setProblem(reason instanceof ApiError ? reason : null),
    )
  }
  if (cycles.length === 0) return <p class="empty">The store has no cycle.</p>
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="Stored cycles">
      <table class="wide">
        <caption class="sr-only">Stored cycles, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Cycle</th>
            <th scope="col">Arrived</th>
            <th scope="col">Model</th>
            <th scope="col">Weights</th>
            <th scope="col">Download</th>
          </tr>
        </thead>
        <tbody>
          {cycles.map((cycle) => (
            <tr key={cycle.position}>
              <th scope="row">{cycleLabel(cycle.cycleId)}</th>
              <td>
                {day(cycle.receivedAt)} {clockSeconds(cycle.receivedAt)}
              </td>
              <td>{cycle.modelVersion}</td>
              <td>{cycle.weightsVersion}</td>
              <td>
                <Downloads cycleId={cycle.cycleId} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {problem !== null && <Missing error={problem} what="older cycles" />}
      {last > 1 && (
        <button class="button more" type="button" onClick={readOlder}>
          Older cycles
        </button>
      )}
    </div>
  )
}
