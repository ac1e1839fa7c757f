/**
 * The floors of heads and encoders: their graphs in a session of this process, in the best of several batches, without HTML, tokens, pooling and
 * messages. The inputs are ready or, for pictures, also prepared by sharp alone: no service can leave out the decoding.
 */
import { readFileSync } from 'node:fs'
import type * as Runtime from 'onnxruntime-node'
import sharp from 'sharp'
import type * as Preprocess from '../src/model/image/preprocess.js'
import type { GraphPlan, HeadsPlan, ImagePlan, TextPlan } from '../src/model/sessions/plans.js'
import type * as PostText from '../src/model/text/post-text.js'
import type * as Tokenizer from '../src/model/text/tokenizer.js'
import { builtModule } from './project.js'

/** Tokens of a run, padding included, and images of a run. */
const tokenBatches = [256, 512, 1024, 2048, 4096]
const imageBatches = [1, 2, 4, 8, 16]

export interface BareEncoder {
  /** What it does, as a noun. */
  readonly name: string
  /** The fastest of several sizes of a batch. */
  bestBatch(): Promise<number>
  /** Encodes all items. */
  run(batch: number): Promise<void>
  batchText(batch: number): string
}

/** Floors that share a session. */
export interface BareEncoders {
  readonly floors: readonly BareEncoder[]
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
    logSeverityLevel: 3,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  })
  return { ort, session }
}

/** The heads over ready matrices, named as the inputs of the graph are. */
export async function openBareHeads(
  { graphs }: HeadsPlan,
  {
    count,
    ...matrices
  }: Readonly<Record<'features' | 'text' | 'image', Float32Array>> & { readonly count: number },
  batchCount: number,
): Promise<BareEncoders> {
  const { ort, session } = await openSession(graphs[0]!)
  const feeds = Object.fromEntries(
    Object.entries(matrices).map(([name, values]) => [
      name,
      new ort.Tensor('float32', values, [count, values.length / count]),
    ]),
  )
  const floor = bareEncoder([count], {
    name: 'the bare session',
    batchText: (rows) => `runs of ${rows} rows`,
    async run() {
      for (let index = 0; index < batchCount; index++) await session.run(feeds)
    },
  })
  return { floors: [floor], close: () => session.release() }
}

/** Rows of similar length share a run. */
export async function openBareText(plan: TextPlan, texts: readonly Uint8Array[]): Promise<BareEncoders> {
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
  const batchesOf = (tokensMax: number): (readonly number[])[][] => {
    const batches: (readonly number[])[][] = []
    for (const row of rows) {
      const last = batches.at(-1)
      if (last === undefined || (last.length + 1) * row.length > tokensMax) batches.push([row])
      else last.push(row)
    }
    return batches
  }
  const ready = new Map(tokenBatches.map((size) => [size, batchesOf(size).map(feedsOf)]))
  const floor = bareEncoder(tokenBatches, {
    name: 'the bare session',
    batchText: (tokens) => `runs of ${tokens} tokens`,
    async run(batch) {
      for (const feeds of ready.get(batch) ?? []) await session.run(feeds)
    },
  })
  return { floors: [floor], close: () => session.release() }
}

export async function openBareImage(plan: ImagePlan, pictures: readonly Uint8Array[]): Promise<BareEncoders> {
  const { Preprocessor } = await builtModule<typeof Preprocess>('model/image/preprocess.js')
  const preprocessor = new Preprocessor(plan)
  const { ort, session } = await openSession(plan)
  const { width, height } = plan.crop ?? { width: 0, height: 0 }
  const feedsOf = (some: readonly Uint8Array[]): Runtime.InferenceSession.FeedsType => {
    const values = new Float32Array(some.length * preprocessor.valueCount)
    for (const [row, pixels] of some.entries()) preprocessor.write(pixels, values, row)
    return { [plan.input]: new ort.Tensor('float32', values, [some.length, 3, height, width]) }
  }
  /** Fast and not exact: the decoder reads a picture in a smaller size, and libvips shrinks the rest. */
  const preparedAll = (some: readonly Uint8Array[]): Promise<Buffer[]> =>
    Promise.all(some.map((jpeg) => sharp(jpeg).resize(width, height, { kernel: 'cubic' }).raw().toBuffer()))
  const pixels = await preparedAll(pictures)
  const ready = new Map(imageBatches.map((count) => [count, slices(pixels, count).map(feedsOf)]))
  const batchText = (count: number): string => `runs of ${count} pictures`
  const bare = bareEncoder(imageBatches, {
    name: 'the bare session',
    batchText,
    async run(batch) {
      for (const feeds of ready.get(batch) ?? []) await session.run(feeds)
    },
  })
  const withSharp = bareEncoder(imageBatches, {
    name: 'the bare session behind the fastest resize of sharp',
    batchText,
    async run(batch) {
      const runs = slices(pictures, batch)
      let preparing = preparedAll(runs[0]!)
      for (const next of [...runs.slice(1), []]) {
        const some = await preparing
        preparing = preparedAll(next)
        await session.run(feedsOf(some))
      }
    },
  })
  return { floors: [bare, withSharp], close: () => session.release() }
}

function slices<Item>(items: readonly Item[], count: number): (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / count) }, (_, index) =>
    items.slice(index * count, (index + 1) * count),
  )
}

function bareEncoder(sizes: readonly number[], encoder: Omit<BareEncoder, 'bestBatch'>): BareEncoder {
  const { run } = encoder
  return {
    ...encoder,
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
  }
}
