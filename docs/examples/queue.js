// queue.js: the queue, in SQLite. Your crawler writes posts, readings, removals and images; client.js reads them.
import { readFileSync } from 'node:fs'

const { DatabaseSync } = await import('node:sqlite').catch(() => {
  console.error(`queue.js needs Node 22.13 or later, and this is ${process.version}`)
  process.exit(1)
})
const db = new DatabaseSync(process.env.QUEUE_FILE ?? 'queue.sqlite')
// candidate, reading, snapshot and removal are rows of the contract, as JSON. sent_in, removed_in: the cycles that have them.
// The crawler writes, too: a write waits for the end of its transaction.
db.exec(`PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS posts (gall_id TEXT, post_no INTEGER, candidate, reading, snapshot, removal, sent_in, removed_in,
    problem, PRIMARY KEY (gall_id, post_no));
  CREATE TABLE IF NOT EXISTS images (gall_id TEXT, post_no INTEGER, position INTEGER, jpeg, sent, problem,
    PRIMARY KEY (gall_id, post_no, position));
  CREATE TABLE IF NOT EXISTS responses (cycle_id PRIMARY KEY, response)`)
const run = (sql, ...values) => void db.prepare(sql).run(...values)
const rows = (column, where, ...values) =>
  db
    .prepare(`SELECT ${column} AS json FROM posts WHERE problem IS NULL AND ${where}`)
    .all(...values)
    .map(({ json }) => JSON.parse(json))

/** Halved when a cycle is too large. */
let candidatesMax = 1000

/** What changed since the last cycle, and the newest reading and snapshot of each pending post. */
export function changes(cycleTime) {
  const entering = `rowid IN (SELECT rowid FROM posts
    WHERE problem IS NULL AND sent_in IS NULL AND removal IS NULL ORDER BY rowid LIMIT ${candidatesMax})`
  const pending = (time) => `removal IS NULL AND (sent_in IS NOT NULL OR ${entering})
    AND julianday(${time}) <= julianday(?) ORDER BY rowid DESC LIMIT 5000`
  return {
    candidates: rows('candidate', entering),
    engagement: rows('reading', pending(`json_extract(reading, '$.observed_at')`), cycleTime),
    candidate_scores: rows('snapshot', pending(`json_extract(snapshot, '$.snapshot_at')`), cycleTime),
    removals: rows(
      'removal',
      'removal IS NOT NULL AND sent_in IS NOT NULL AND removed_in IS NULL LIMIT 5000',
    ),
  }
}

/** The spool has the cycle. Only its own rows are marked: others may have arrived meanwhile. */
export function mark({ cycle_id, candidates, removals }) {
  const where = 'WHERE gall_id = ? AND post_no = ?'
  for (const { gall_id, post_no } of candidates)
    run(`UPDATE posts SET sent_in = ? ${where}`, cycle_id, gall_id, post_no)
  for (const { gall_id, post_no } of removals)
    run(`UPDATE posts SET removed_in = ? ${where}`, cycle_id, gall_id, post_no)
}

export function storeScores(response) {
  run('INSERT OR REPLACE INTO responses VALUES (?, ?)', response.cycle_id, JSON.stringify(response))
  candidatesMax = Math.min(1000, 2 * candidatesMax)
}

export const hasResponse = (cycleId) =>
  db.prepare('SELECT 1 FROM responses WHERE cycle_id = ?').get(cycleId) !== undefined

/** The service refused a cycle: the rows that it names are set aside, all others are in the next cycles. */
export function takeBack(cycleId, file, { kind, fields, message }) {
  const cycle = JSON.parse(readFileSync(file, 'utf8'))
  let refused = kind === 'conflict' ? [] : fields
  if (kind === 'too_large') {
    candidatesMax = Math.max(1, Math.floor(cycle.candidates.length / 2))
    if (cycle.candidates.length === 1) refused = [{ path: 'candidates[0]', problem: message }]
  }
  for (const { path, problem } of refused) {
    const [, member, index] = /^(\w+)\[(\d+)\]/.exec(path) ?? []
    const { gall_id, post_no } = cycle[member]?.[index] ?? {}
    // A reading or snapshot is replaced by the next one. A post waits until somebody has looked at its problem.
    const column = { engagement: 'reading', candidate_scores: 'snapshot' }[member]
    const change = column === undefined ? 'problem = ? WHERE TRUE' : `${column} = NULL WHERE ? IS NOT NULL`
    if (post_no !== undefined)
      run(
        `UPDATE posts SET ${change} AND gall_id = ? AND post_no = ?`,
        `${path} ${problem}`,
        gall_id,
        post_no,
      )
  }
  run('UPDATE posts SET sent_in = nullif(sent_in, ?1), removed_in = nullif(removed_in, ?1)', cycleId)
}

export const images = () => db.prepare('SELECT * FROM images WHERE sent IS NULL').all()

export const markImage = ({ gall_id, post_no, position }, problem) =>
  run(
    'UPDATE images SET sent = TRUE, problem = ? WHERE (gall_id, post_no, position) = (?, ?, ?)',
    problem,
    gall_id,
    post_no,
    position,
  )
