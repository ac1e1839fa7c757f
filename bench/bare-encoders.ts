/**
 * The floor of the encoders: their graphs in a session of this process, with inputs that are prepared beforehand, in the best of several
 * batches. Without HTML, tokens, JPEGs, pooling and messages.
 */
import { readFileSync } from 'node:fs'
import type * as Runtime from 'onnxruntime-node'
import type * as Preprocess from '../src/model/image/preprocess.js'
import type { GraphPlan, ImagePlan, TextPlan } from '../src/model/sessions/plans.js'
import type * as PostText from '../src/model/text/post-text.js'
import type * as Tokenizer from '../src/model/text/tokenizer.js'
import { builtModule } from './project.js'

/** Tokens of a run, padding included, and images of a run. */
const tokenBatches = [256, 512, 1024, 2048, 4096]
const imageBatches = [1, 2, 4, 8, 16]

export interface BareEncoder {
  /** The fastest of several sizes of a batch. */
  bestBatch(): Promise<number>
  /** Encodes all items. */
  run(batch: number): Promise<void>
  batchText(batch: number): string
  close(): Promise<void>
}

/** Not a static import: the linter allows static imports of this package only in the service. */
async function openSession(
  plan: GraphPlan,
): Promise<{ ort: typeof Runtime; session: Runtime.InferenceSession }> {
  const ort: typeof Runtime = await import('onnxruntime-node')
  const session = await ort.InferenceSession.create(plan.file, {
    executionProviders: [...plan.providers],
    intraOpNumThreads: plan.intraOpThreads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  })
  return { ort, session }
}

/** Rows of similar length share a run. */
export async function openBareText(plan: TextPlan, texts: readonly Uint8Array[]): Promise<BareEncoder> {
  const { openTokenizer } = await builtModule<typeof Tokenizer>('model/text/tokenizer.js')
  const { parseTemplate, readPost } = await builtModule<typeof PostText>('model/text/post-text.js')
  const tokenizer = openTokenizer(readFileSync(plan.tokenizer.file), plan)
  const template = parseTemplate(plan.template)
  const rows = texts
    .map((text) => {
      const post = readPost(text)
      if (post === null) throw new Error('a text cannot be read')
      return tokenizer.encode(template(post, tokenizer.charsMax)).ids
    })
    .sort((a, b) => a.length - b.length)
  const { ort, session } = await openSession(plan)
  const feedsOf = (batch: readonly (readonly number[])[]): Runtime.InferenceSession.FeedsType => {
    const length = Math.max(...batch.map((ids) => ids.length))
    const dims = [batch.length, length]
    const tensor = (valueOf: (ids: readonly number[], at: number) => number): Runtime.Tensor =>
      new ort.Tensor(
        'int64',
        BigInt64Array.from(
          batch.flatMap((ids) => Array.from({ length }, (_, at) => BigInt(valueOf(ids, at)))),
        ),
        dims,
      )
    return {
      input_ids: tensor((ids, at) => ids[at] ?? 0),
      attention_mask: tensor((ids, at) => Number(at < ids.length)),
      token_type_ids: tensor(() => 0),
    }
  }
  return bareEncoder(session, {
    sizes: tokenBatches,
    batchText: (tokens) => `runs of ${tokens} tokens`,
    feedsOf(tokensMax) {
      const batches: (readonly number[])[][] = []
      for (const row of rows) {
        const last = batches.at(-1)
        if (last === undefined || (last.length + 1) * row.length > tokensMax) batches.push([row])
        else last.push(row)
      }
      return batches.map(feedsOf)
    },
  })
}

export async function openBareImage(plan: ImagePlan, pictures: readonly Uint8Array[]): Promise<BareEncoder> {
  const { Preprocessor } = await builtModule<typeof Preprocess>('model/image/preprocess.js')
  const preprocessor = new Preprocessor(plan)
  const tensors: Float32Array[] = []
  for (const one of pictures) tensors.push(Float32Array.from(await preprocessor.tensorOf(one)))
  const { ort, session } = await openSession(plan)
  const { width, height } = plan.crop ?? { width: 0, height: 0 }
  return bareEncoder(session, {
    sizes: imageBatches,
    batchText: (count) => `runs of ${count} pictures`,
    feedsOf: (count) =>
      Array.from({ length: Math.ceil(tensors.length / count) }, (_, run) => {
        const some = tensors.slice(run * count, (run + 1) * count)
        const values = new Float32Array(some.length * preprocessor.valueCount)
        some.forEach((one, at) => values.set(one, at * preprocessor.valueCount))
        return { [plan.input]: new ort.Tensor('float32', values, [some.length, 3, height, width]) }
      }),
  })
}

function bareEncoder(
  session: Runtime.InferenceSession,
  {
    sizes,
    feedsOf,
    batchText,
  }: {
    readonly sizes: readonly number[]
    readonly feedsOf: (batch: number) => readonly Runtime.InferenceSession.FeedsType[]
    readonly batchText: (batch: number) => string
  },
): BareEncoder {
  const prepared = new Map(sizes.map((size) => [size, feedsOf(size)]))
  const run = async (batch: number): Promise<void> => {
    for (const feeds of prepared.get(batch) ?? []) await session.run(feeds)
  }
  return {
    run,
    batchText,
    async bestBatch() {
      let best = { batch: sizes[0] ?? 1, ms: Infinity }
      // The first run of a session is slower.
      await run(best.batch)
      for (const batch of sizes) {
        const startedAt = performance.now()
        await run(batch)
        const ms = performance.now() - startedAt
        if (ms < best.ms) best = { batch, ms }
      }
      return best.batch
    },
    close: () => session.release(),
  }
}
