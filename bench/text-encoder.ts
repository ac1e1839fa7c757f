/**
 * How fast does the service encode 100 new posts, compared with a bare session? The service reduces HTML, tokenises,
 * batches and pools in a child process. The model is a 4-layer, 256-wide transformer with rows of 128 tokens.
 * `npm run build && scripts/pinned node --import ./bench/typescript.mjs bench/text-encoder.ts [--rounds 9] [--threads 1]`
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type * as Runtime from 'onnxruntime-node'
import { silentLog } from '../src/base/index.js'
import { koreanTokenizer } from '../models/korean-tokenizer.js'
import { transformerGraph } from '../models/transformer.js'
import type * as SessionHost from '../src/model/sessions/session-host.js'
import type { FilePlan, TextPlan } from '../src/model/sessions/plans.js'
import type * as PostText from '../src/model/text/post-text.js'
import type * as Tokenizer from '../src/model/text/tokenizer.js'
import { bodyHtml, titleText, topics } from '../src/simulator/korean-text.js'
import { Rng } from '../src/simulator/rng.js'
import { builtModule, currentConditions } from './project.js'
import { median } from './statistics.js'

export interface EncoderBenchOptions {
  readonly rounds: number
  readonly threads: number
  readonly postCount: number
  readonly layerCount: number
  readonly width: number
  readonly tokensMax: number
}

export interface EncoderBenchResult {
  /** Median posts per second. */
  readonly bare: number
  /** The bare session with the same rows in several runs, by rows per run. */
  readonly bareSplit: readonly { readonly rowCount: number; readonly postsPerSecond: number }[]
  readonly service: number
  readonly share: number
}

const timeLimitMs = 60_000
const bytesMax = 4 * 2 ** 30

/** Measures the variants alternately, so that other load of the machine affects all of them. */
export async function textEncoderBench(
  options: EncoderBenchOptions,
  print: (text: string) => void,
): Promise<EncoderBenchResult> {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-text-encoder-'))
  try {
    const plan = writeEncoder(directory, options)
    const { openTokenizer } = await builtModule<typeof Tokenizer>('model/text/tokenizer.js')
    const { parseTemplate, readPost } = await builtModule<typeof PostText>('model/text/post-text.js')
    const records = makeRecords(options.postCount)
    const tokenizer = openTokenizer(readFileSync(plan.tokenizer.file), plan)
    const template = parseTemplate(plan.template)
    const rows = records.map((record) => {
      const post = readPost(record)
      if (post === null) throw new Error('a record cannot be read')
      return tokenizer.encode(template(post, tokenizer.charsMax)).ids
    })
    if (rows.some((row) => row.length !== options.tokensMax)) throw new Error('a text is too short')
    return await measure(options, plan, { records, rows }, print)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measure(
  options: EncoderBenchOptions,
  plan: TextPlan,
  { records, rows }: { records: readonly Uint8Array[]; rows: readonly (readonly number[])[] },
  print: (text: string) => void,
): Promise<EncoderBenchResult> {
  const bare = await openBare(plan)
  const { openEncoderHost } = await builtModule<typeof SessionHost>('model/sessions/session-host.js')
  const host = await openEncoderHost(plan, { bytesMax, log: silentLog })
  const splits = [8, 16, 32, 64].filter((rowCount) => rowCount < rows.length)
  const encodeAll = async (): Promise<void> => {
    const reply = await host.run({ items: records, budgetMs: timeLimitMs }, timeLimitMs)
    if (reply.encoded.includes(0)) throw new Error('a post was not encoded')
  }
  try {
    const variants = [
      { name: 'bare session, one run', run: () => bare.run(rows) },
      ...splits.map((rowCount) => ({
        name: `bare session, ${rowCount} rows per run`,
        run: async () => {
          for (let at = 0; at < rows.length; at += rowCount) await bare.run(rows.slice(at, at + rowCount))
        },
      })),
      { name: 'service, in a child process', run: encodeAll },
    ]
    const rates = await alternate(variants, options.rounds, rows.length)
    const { commit, machine } = currentConditions()
    print(`${commit}, ${machine}`)
    print(
      `${rows.length} posts of ${options.tokensMax} tokens, ${options.threads} thread(s), posts per second:`,
    )
    variants.forEach(({ name }, index) =>
      print(`  ${name.padEnd(32)}${(rates[index] ?? NaN).toFixed(1).padStart(8)}`),
    )
    const [one = NaN, service = NaN] = [rates[0], rates.at(-1)]
    print(`the service reaches ${((100 * service) / one).toFixed(0)} % of the bare session`)
    return {
      bare: one,
      bareSplit: splits.map((rowCount, index) => ({ rowCount, postsPerSecond: rates[index + 1] ?? NaN })),
      service,
      share: service / one,
    }
  } finally {
    await Promise.all([host.close(), bare.close()])
  }
}

/** Median posts per second of each variant. The first round is a warm-up and does not count. */
async function alternate(
  variants: readonly { run: () => Promise<unknown> }[],
  rounds: number,
  postCount: number,
): Promise<number[]> {
  const samples = variants.map((): number[] => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [index, variant] of variants.entries()) {
      const startMs = performance.now()
      await variant.run()
      if (round > 0) samples[index]?.push((1000 * postCount) / (performance.now() - startMs))
    }
  }
  return samples.map(median)
}

/** The graph in a session without the service's code, with the service's session options. */
async function openBare(plan: TextPlan) {
  // Not a static import: the linter allows static imports of this package only in the service.
  const ort: typeof Runtime = await import('onnxruntime-node')
  const session = await ort.InferenceSession.create(plan.file, {
    executionProviders: [...plan.providers],
    intraOpNumThreads: plan.intraOpThreads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  })
  return {
    run: (rows: readonly (readonly number[])[]) => {
      const shape = [rows.length, rows[0]?.length ?? 0]
      const ids = BigInt64Array.from(rows.flat(), BigInt)
      return session.run({
        input_ids: new ort.Tensor('int64', ids, shape),
        attention_mask: new ort.Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
        token_type_ids: new ort.Tensor('int64', new BigInt64Array(ids.length), shape),
      })
    },
    close: () => session.release(),
  }
}

function writeEncoder(
  directory: string,
  { layerCount, width, tokensMax, threads }: EncoderBenchOptions,
): TextPlan {
  const { json, vocabularyCount } = koreanTokenizer()
  const graph = transformerGraph({
    layerCount,
    width,
    headCount: 4,
    hiddenWidth: 4 * width,
    vocabularyCount,
    tokensMax,
    hasTypeIds: true,
    seed: 20_250_201,
    note: 'for a benchmark',
  })
  const write = (name: string, bytes: Uint8Array): FilePlan => {
    const file = join(directory, name)
    writeFileSync(file, bytes)
    return { file, sha256: createHash('sha256').update(bytes).digest('hex') }
  }
  return {
    role: 'text',
    ...write('model.onnx', graph),
    providers: ['cpu'],
    intraOpThreads: threads,
    tokenizer: write('tokenizer.json', new TextEncoder().encode(json)),
    template: '{title}\n{body}',
    tokens_max: tokensMax,
    pooling: 'mean',
    normalize: true,
    dim: width,
    inputs: { input_ids: 'input_ids', attention_mask: 'attention_mask', token_type_ids: 'token_type_ids' },
    output: 'last_hidden_state',
    pad_token_id: null,
    golden_tokens: [],
  }
}

/** Candidates with bodies of some hundred characters, as raw JSON objects. */
function makeRecords(count: number): Uint8Array[] {
  const rng = new Rng('bench text encoder')
  return Array.from({ length: count }, () => {
    const topic = rng.pick(topics)
    const body = bodyHtml(rng, topic, { charsAim: 600, imageCount: 1 })
    return new TextEncoder().encode(JSON.stringify({ title: titleText(rng, topic), body_html: body }))
  })
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '9' }, threads: { type: 'string', default: '1' } },
  })
  const size = { postCount: 100, layerCount: 4, width: 256, tokensMax: 128 }
  await textEncoderBench(
    { ...size, rounds: Number(values.rounds), threads: Number(values.threads) },
    (text) => console.log(text),
  )
}
