/**
 * `understudy pool`: lists the pending posts of a data directory, with a digest over their keys that a client can compute.
 * The server may be running.
 */
import type { Command } from 'commander'
import { listPool, type PendingPostRow, type PoolListing } from '../history/index.js'
import { addSettingFlags, type CommandContext } from './context.js'
import { positionOf, withStore } from './models/common.js'
import { settingsOf, type Flags } from './read-settings.js'
import { formatTable } from './text-table.js'

export function addPoolCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('pool')
    .description('list the pending posts, with a digest over their keys; the server may be running')
    .option('--cycle <id>', 'the posts that were pending after this cycle (default: the last to arrive)')
    .option('--digest', 'print one line only: cycle, number of posts and digest')
    .option('--json', 'print JSON: one line per post, or with --digest one object')
  addSettingFlags(command, ['dataDir']).action((flags: Flags) => printPool(flags, context))
}

async function printPool(flags: Flags, context: CommandContext): Promise<void> {
  const { dataDir } = settingsOf(flags, context)
  await withStore(dataDir, (store) => {
    const cycleId = typeof flags['cycle'] === 'string' ? flags['cycle'] : undefined
    if (cycleId !== undefined) positionOf(store, cycleId)
    const listing = listPool(store, cycleId)
    const isJson = flags['json'] === true
    if (flags['digest'] === true) context.print(isJson ? `${digestJson(listing)}\n` : digestLine(listing))
    else if (isJson) context.print(listing.posts.map((post) => `${JSON.stringify(post)}\n`).join(''))
    else context.print(`${digestLine(listing)}\n${tableOf(listing.posts)}`)
  })
}

function digestJson({ cycle_id, pending, digest }: PoolListing): string {
  return JSON.stringify({ cycle_id, pending, digest })
}

function digestLine({ cycle_id, pending, digest }: PoolListing): string {
  return `${cycle_id ?? 'no cycle'}  ${pending} pending  ${digest}\n`
}

function tableOf(posts: readonly PendingPostRow[]): string {
  const rows = posts.map(({ gall_id, post_no, status, reason, score }) => [
    gall_id,
    String(post_no),
    reason ?? status,
    score === null ? '' : score.toFixed(4),
  ])
  return formatTable(['gallery', 'post', 'status', 'score'], rows)
}
