// queue.js: the queue, in SQLite. Your crawler writes posts, readings, removals and images; client.js reads them.
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const db = new DatabaseSync(process.env.QUEUE_FILE ?? 'queue.sqlite')
// candidate, reading and removal are rows of the contract, as JSON. sent_in and removed_in are the cycles that have them.
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS posts (gall_id TEXT, post_no INTEGER, candidate, reading, removal, sent_in, removed_in, problem,
    PRIMARY KEY (gall_id, post_no));
  CREATE TABLE IF NOT EXISTS images (gall_id TEXT, post_no INTEGER, position INTEGER, jpeg, sent, problem,
    PRIMARY KEY (gall_id, post_no, position));
  CREATE TABLE IF NOT EXISTS responses (cycle_id PRIMARY KEY, response)`)
const run = (sql, ...values) => void db.prepare(sql).run(...values)
const rows = (column, where, ...values) =>
  db
    .prepare(`SELECT ${column} AS json FROM posts WHERE problem IS NULL AND ${where}`)
    .all(...values)
    .map(({ json }) => JSON.parse(json))

/** What changed since the last cycle, and one engagement row for each pending post. */
export const changes = (cycleTime) => ({
  candidates: rows('candidate', 'sent_in IS NULL AND removal IS NULL LIMIT 1000'),
  engagement: rows(
    'reading',
    `removal IS NULL AND julianday(reading ->> 'observed_at') <= julianday(?) ORDER BY rowid DESC LIMIT 5000`,
    cycleTime,
  ),
  candidate_scores: [],
  removals: rows('removal', 'removal IS NOT NULL AND sent_in IS NOT NULL AND removed_in IS NULL LIMIT 5000'),
})

/** The spool has the cycle. Only its own rows are marked: others may have arrived meanwhile. */
export function mark({ cycle_id, candidates, removals }) {
  const where = 'WHERE gall_id = ? AND post_no = ?'
  for (const { gall_id, post_no } of candidates)
    run(`UPDATE posts SET sent_in = ? ${where}`, cycle_id, gall_id, post_no)
  for (const { gall_id, post_no } of removals)
    run(`UPDATE posts SET removed_in = ? ${where}`, cycle_id, gall_id, post_no)
}

export const storeScores = (response) =>
  run('INSERT OR REPLACE INTO responses VALUES (?, ?)', response.cycle_id, JSON.stringify(response))

/** The service refused a cycle: the rows that it names are set aside, all others are in the next cycle. */
export function takeBack(cycleId, file, { kind, fields }) {
  const cycle = JSON.parse(readFileSync(file, 'utf8'))
  for (const { path, problem } of kind === 'conflict' ? [] : fields) {
    const [, member, index] = /^(\w+)\[(\d+)\]/.exec(path) ?? []
    const { gall_id, post_no } = cycle[member]?.[index] ?? {}
    // A reading is replaced by the next one. A post waits until somebody has looked at its problem.
    const change = member === 'engagement' ? 'reading = NULL WHERE ? IS NOT NULL' : 'problem = ? WHERE TRUE'
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
