/**
 * `understudy explain`: shows one post in the stored cycles, why it has its score, and why the score changed. The server
 * may be running.
 */
import type { Command } from 'commander'
import { explainPost, failures, historySettingNames } from '../../history/index.js'
import { addSettingFlags, integerArgument, printResult, type CommandContext } from '../context.js'
import { explanationText } from './explain-text.js'
import { withModels } from '../store/open-store.js'
import type { Flags } from '../settings/read-settings.js'

export function addExplainCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('explain <gall_id>')
    .argument('<post_no>', 'number of the post in its gallery', integerArgument(1))
    .description(
      'show the visits, scores and outcomes of a post, and how each input changes its score at one cycle; the server may be running',
    )
    .option('--cycle <id>', 'the cycle to explain (default: the last that scored the post)')
    .option('--against <id>', 'also explain the change of the score since this cycle')
    .option('--json', 'print JSON')
    .option('--texts', 'include the body of the post in the JSON')
  addSettingFlags(command, historySettingNames).action((gallId: string, postNo: number, flags: Flags) =>
    explain(gallId, postNo, flags, context),
  )
}

async function explain(
  gall_id: string,
  post_no: number,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const cycleOf = (name: string): string | null => {
    const id = flags[name]
    return typeof id === 'string' ? id : null
  }
  await withModels(flags, context, failures.explain, async (history) => {
    const explanation = await explainPost(
      history,
      { gall_id, post_no },
      { cycleId: cycleOf('cycle'), againstId: cycleOf('against'), texts: flags['texts'] === true },
    )
    printResult(context, flags, explanation, () => explanationText(explanation, context.columns()))
  })
}
