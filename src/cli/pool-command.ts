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
  const hasDetails = posts.some(({ entered_cycle }) => entered_cycle !== undefined)
  const rows = posts.map((post) => [
    post.gall_id,
    String(post.post_no),
    post.reason ?? post.status,
    post.score === null ? '' : post.score.toFixed(4),
    ...(hasDetails
      ? [
          post.entered_cycle ?? '',
          ...[post.views, post.up, post.down, post.comment_cnt, post.rtb_vote].map((value) =>
            String(value ?? ''),
          ),
        ]
      : []),
  ])
  const details = hasDetails ? ['entered', 'views', 'up', 'down', 'comments', 'rtb_vote'] : []
  return formatTable(['gallery', 'post', 'status', 'score', ...details], rows)
}
