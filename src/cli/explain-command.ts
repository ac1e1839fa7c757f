/**
 * `understudy explain`: shows one post in the stored cycles, why it has its score, and why the score changed. The server
 * may be running.
 */
import type { Command } from 'commander'
import { explainPost, type Scorer } from '../history/index.js'
import { featureNames, findFeature, missingEmbeddings, ModelError, readManifest } from '../model/index.js'
import type { Store } from '../store/index.js'
import { addSettingFlags, integerArgument, printResult, type CommandContext } from './context.js'
import { explanationText } from './explain-text.js'
import { CommandError } from './failure.js'
import { positionOf, historySettingNames } from './models/common.js'
import { withModels, type LoadVersion } from './models/loaded-models.js'
import type { Flags } from './read-settings.js'

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
  await withModels(
    flags,
    context,
    'the post cannot be explained',
    async ({ settings, store, codec, load }) => {
      const explanation = await explainPost(
        store,
        { gall_id, post_no },
        {
          codec,
          cycleId: cycleOf(store, flags['cycle']),
          againstId: cycleOf(store, flags['against']),
          texts: flags['texts'] === true,
          load: (version) => loadScorer(version, settings.modelsDir, load),
        },
      )
      if (explanation === null)
        throw new CommandError(`no stored cycle has the post ${gall_id}/${post_no} as a candidate`)
      printResult(context, flags, explanation, () => explanationText(explanation))
    },
  )
}

/** A given cycle, which must be stored. */
function cycleOf(store: Store, id: unknown): string | null {
  if (typeof id !== 'string') return null
  positionOf(store, id)
  return id
}

/** Rejects with a `ModelError` for a version that cannot be loaded, or whose files are not those of the server. */
async function loadScorer(version: string, modelsDir: string, load: LoadVersion): Promise<Scorer> {
  const { manifest } = await readManifest(modelsDir, version)
  const model = await load(version).catch((error: unknown) => {
    throw error instanceof CommandError ? new ModelError(error.message, { cause: error }) : error
  })
  return {
    model,
    features: featureNames(manifest)
      .map(findFeature)
      .filter((feature) => feature !== undefined),
    missing: manifest.missing ?? 'imputed',
    missingEmbedding: missingEmbeddings(manifest),
  }
}
