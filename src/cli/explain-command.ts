/**
 * `understudy explain`: shows one post in the stored cycles, why it has its score, and why the score changed. The server may
 * run.
 */
import type { Command } from 'commander'
import { loadCodec } from '../codec/index.js'
import { explainPost, type Scorer } from '../history/index.js'
import {
  featureNames,
  findFeature,
  loadModel,
  missingEmbedding,
  ModelError,
  readManifest,
  type LoadedModel,
} from '../model/index.js'
import type { Settings } from '../settings/index.js'
import type { Store } from '../store/index.js'
import { addSettingFlags, printResult, type CommandContext } from './context.js'
import { explanationText } from './explain-text.js'
import { CommandError, messageOf, UsageError } from './failure.js'
import { checkIdentity } from './models/activate.js'
import { loadOptions, positionOf, sessionSettingNames, withStore } from './models/common.js'
import { settingsOf, type Flags } from './read-settings.js'

export function addExplainCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('explain <gall_id> <post_no>')
    .description(
      'show the visits and scores of a post, what moves its score at one cycle, and what became of it; the server may run',
    )
    .option('--cycle <id>', 'the cycle to explain (default: the last that scored the post)')
    .option('--against <id>', 'also explain the change of the score since this cycle')
    .option('--json', 'print JSON')
  addSettingFlags(command, [...sessionSettingNames, 'dataDir', 'codec']).action(
    (gallId: string, postNo: string, flags: Flags) => explain(gallId, Number(postNo), flags, context),
  )
}

async function explain(
  gall_id: string,
  post_no: number,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  if (!Number.isSafeInteger(post_no) || post_no < 1)
    throw new UsageError('post_no must be a whole number from 1')
  const settings = settingsOf(flags, context)
  const { codec } = loadCodec(settings.codec)
  await withStore(settings.dataDir, async (store) => {
    const cycleId = cycleOf(store, flags['cycle'])
    const againstId = cycleOf(store, flags['against'])
    const loaded: LoadedModel[] = []
    const load = async (version: string): Promise<Scorer> => {
      const { scorer, model } = await loadScorer(store, version, settings, context)
      loaded.push(model)
      return scorer
    }
    try {
      const key = { gall_id, post_no }
      const explanation = await explainPost(store, key, { codec, cycleId, againstId, load })
      if (explanation === null)
        throw new CommandError(`no stored cycle has the post ${gall_id}/${post_no} as a candidate`)
      printResult(context, flags, explanation, () => explanationText(explanation))
    } catch (error) {
      if (error instanceof CommandError) throw error
      throw new CommandError(messageOf(error), { cause: error })
    } finally {
      await Promise.all(loaded.map((model) => model.close()))
    }
  })
}

/** A given cycle, which must be stored. */
function cycleOf(store: Store, id: unknown): string | null {
  if (typeof id !== 'string') return null
  positionOf(store, id)
  return id
}

async function loadScorer(
  store: Store,
  version: string,
  settings: Settings,
  context: CommandContext,
): Promise<{ readonly scorer: Scorer; readonly model: LoadedModel }> {
  const { manifest } = await readManifest(settings.modelsDir, version)
  const model = await loadModel(loadOptions(version, settings, context))
  try {
    // The recorded scores belong to the files that the server loaded.
    checkIdentity(store, model)
  } catch (error) {
    await model.close()
    throw new ModelError(messageOf(error), { cause: error })
  }
  const scorer = {
    model,
    features: featureNames(manifest)
      .map(findFeature)
      .filter((feature) => feature !== undefined),
    missing: manifest.missing ?? ('imputed' as const),
    missingEmbedding: {
      text: missingEmbedding(manifest, 'text'),
      image: missingEmbedding(manifest, 'image'),
    },
  }
  return { scorer, model }
}
