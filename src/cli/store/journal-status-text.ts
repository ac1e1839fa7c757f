/**
 * The state of a journal as text for a terminal: its environments with their owners, and the PostgreSQL servers that confirm
 * commits.
 */
import type { JournalStatus } from '../../store/index.js'
import { formatTable } from '../text/text-table.js'

/** `columns`: width of the terminal. */
export function journalStatusText(
  { servers, synchronousStandbys, standbys, environments }: JournalStatus,
  columns?: number,
): string {
  const rows = environments.map((row) => [
    row.environment,
    row.isComplete ? (row.owner ?? 'none') : 'import is not complete',
    row.owner === null ? '' : `${row.leaseSLeft} s`,
    String(row.epoch),
    row.entryAgeS === null ? 'none' : `${row.entry}, ${row.entryAgeS} s ago`,
    row.lastCycleId === null ? 'none' : `${row.lastCycleId}, ${row.cycles} in all`,
  ])
  const names = ['environment', 'owner', 'lease', 'epoch', 'newest entry', 'newest cycle']
  const standbyLines = standbys.map(({ name, syncState, lagBytes }) =>
    syncState === null
      ? `PostgreSQL standby ${name}: unknown; to see more, run: grant pg_monitor to USER\n`
      : `PostgreSQL standby ${name}: ${syncState}, ${lagBytes ?? 'unknown'} bytes behind\n`,
  )
  if (synchronousStandbys !== '' && standbys.length === 0)
    standbyLines.push('no PostgreSQL standby is connected: commits wait\n')
  const serverLines = servers.map(({ address, state }) => `PostgreSQL ${address}: ${state}\n`)
  if (servers.filter(({ state }) => state.startsWith('primary')).length > 1)
    serverLines.push('TWO SERVERS ARE PRIMARIES: stop the one with the lower timeline\n')
  const quorum =
    synchronousStandbys === ''
      ? 'commits wait for no other PostgreSQL server: what the disk of the primary loses is lost\n'
      : `commits wait for: ${synchronousStandbys}\n`
  const table =
    rows.length === 0 ? 'no environments\n' : formatTable(names, rows, { cellsMax: columns, column: 1 })
  return `${table}${quorum}${serverLines.join('')}${standbyLines.join('')}`
}
