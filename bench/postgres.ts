/**
 * PostgreSQL servers for the benchmarks of the journal: a primary and two standbys on this machine, of which one must confirm
 * each commit.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { findPostgres, startPostgres } from '../test/helpers/postgres.js'
import { projectDir } from './project.js'

export const postgresBin = findPostgres()

/** As docs/high-availability.md recommends: checkpoints and new files of the log delay commits that wait for the same disk. */
const settings = [
  ...['checkpoint_timeout = 30min', 'max_wal_size = 4GB', 'min_wal_size = 1GB'],
  'max_connections = 200',
]

export interface BenchJournal {
  readonly url: string
  /** Ends the first use of the servers: from then on they write to files of the log that exist, as after some hours. */
  readonly settle: () => void
}

/** Runs `use` with a new journal that has these environments, then removes the servers. Rejects if PostgreSQL is not installed. */
export async function withJournal<Result>(
  environments: readonly string[],
  use: (journal: BenchJournal) => Promise<Result>,
): Promise<Result> {
  if (postgresBin === null) throw new Error('needs PostgreSQL 15 or later: apt-get install postgresql')
  const cluster = await startPostgres(postgresBin, 2, settings)
  try {
    const url = cluster.createDatabase('journal')
    const command = (...args: string[]): void => {
      const env = { ...process.env, UNDERSTUDY_JOURNAL: url }
      const { status, stderr } = spawnSync(join(projectDir, 'bin', 'understudy'), ['journal', ...args], {
        env,
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(stderr)
    }
    command('migrate')
    for (const environment of environments) command('create', environment)
    const settle = (): void => cluster.servers.forEach((server) => void cluster.sql('checkpoint', server))
    return await use({ url, settle })
  } finally {
    cluster.remove()
  }
}
