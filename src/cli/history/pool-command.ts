/**
 * `understudy pool`: lists the pending posts of a data directory, with a digest over their keys that a client can compute.
 * The server may be running.
 */
import type { Command } from 'commander'
import { listPool, positionOf, type PendingPostRow, type PoolListing } from '../../history/index.js'
import { addSettingFlags, type CommandContext } from '../context.js'
import { withStore } from '../store/open-store.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { formatTable } from '../text/text-table.js'

export function addPoolCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('pool')
    .description('list the pending posts, with a digest over their keys; the server may be running')
    .option('--cycle <id>', 'the posts that were pending after this cycle (default: the last to arrive)')
    .option('--digest', 'print one line only: cycle, number of posts and digest')
    .option('--json', 'print JSON: one line per post, or with --digest one object')
  addSettingFlags(command, ['dataDir']).action((flags: PoolFlags) => printPool(flags, context))
}

interface PoolFlags extends Flags {
  readonly cycle?: string
  readonly digest?: true
  readonly json?: true
}

async function printPool(flags: PoolFlags, context: CommandContext): Promise<void> {
  const { dataDir } = settingsOf(flags, context)
  await withStore(dataDir, (store) => {
    if (flags.cycle !== undefined) positionOf(store, flags.cycle)
    const { posts, ...summary } = listPool(store, flags.cycle)
    const rows: readonly object[] = flags.digest === true ? [summary] : posts
    if (flags.json === true) context.print(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    else
      context.print(
        digestLine(summary) + (flags.digest === true ? '' : `\n${tableOf(posts, context.columns())}`),
      )
  })
}

function digestLine({ cycle_id, pending, digest }: Omit<PoolListing, 'posts'>): string {
  return `${cycle_id ?? 'no cycle'}  ${pending} pending  ${digest}\n`
}

function tableOf(posts: readonly PendingPostRow[], columns: number | undefined): string {
  const rows = posts.map(({ gall_id, post_no, status, reason, score }) => [
    gall_id,
    String(post_no),
    reason ?? status,
    score === null ? '' : score.toFixed(4),
  ])
  return formatTable(['gallery', 'post', 'status', 'score'], rows, { cellsMax: columns })
}
