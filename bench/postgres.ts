/**
 * PostgreSQL servers for the benchmarks of the journal: a primary and two standbys on this machine, of which one must confirm
 * each commit.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { findPostgres, startPostgres } from '../test/helpers/postgres.js'
import { projectDir } from './project.js'

export const postgresBin = findPostgres()

/** As docs/high-availability.md recommends: a checkpoint delays the commits that wait for the same disk. */
const settings = ['checkpoint_timeout = 30min', 'max_wal_size = 4GB', 'max_connections = 200']

/** Runs `use` with the address of a new journal that has these environments, then removes the servers. Rejects where PostgreSQL is not installed. */
export async function withJournal<Result>(
  environments: readonly string[],
  use: (url: string) => Promise<Result>,
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
    return await use(url)
  } finally {
    cluster.remove()
  }
}
