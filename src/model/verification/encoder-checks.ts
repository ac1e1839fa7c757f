/**
 * Checks of the encoders: the tokenizer reproduces the golden token ids of the training, and unusual texts and images get
 * finite vectors, the same in each run, alone and in a batch.
 */
import { join } from 'node:path'
import { gibibyte, minuteMs, type Log } from '../../base/index.js'
import type { ImageEncoder, TextEncoder } from '../model.js'
import type { Manifest, TextManifest } from '../package/manifest.js'
import type { ModelPackage } from '../package/read-package.js'
import { textSettings } from '../package/settings.js'
import { SessionProcess } from '../sessions/session-process.js'
import { plural, fail, pass, skip, warn, type Outcome } from './report.js'
import { evaluationMode, figure, vectorDifference, type TrialModel } from './trial-model.js'

export type EncoderName = 'text' | 'image'

/** Vectors of one text alone and among others: padding changes the order of sums. In half precision that matters more. */
const vectorToleranceMin = 1e-4

const tokenizerBytesMax = 4 * gibibyte

const trialTexts: readonly { title: string; body_html?: string | null }[] = [
  { title: '안녕하세요 ㅋㅋㅋㅋ', body_html: '<p>오늘 있었던 일<br>사진 <img src="a.jpg"> 봐라</p>' },
  { title: 'plain ASCII title 1234', body_html: null },
  { title: '' },
  { title: '🙂', body_html: '&amp;&lt;b&gt; &#x1F642;' },
  { title: '漢字とかな', body_html: '<div><script>nothing()</script>글</div>' },
  { title: '긴 글', body_html: `<p>${'가나다라 마바사 '.repeat(3000)}</p>` },
]

/**
 * The process of the text encoder has compared the golden tokens when a model is loaded. Of a model that does not load, the
 * tokenizer is opened alone.
 */
export async function checkTokenizer(
  modelPackage: ModelPackage,
  { isLoaded, log }: { readonly isLoaded: boolean; readonly log: Log },
): Promise<Outcome> {
  const { text, kind } = modelPackage.manifest
  if (text === undefined) return skip('The model reads no texts.')
  if (!isLoaded) await openTokenizerAlone(modelPackage, text, log)
  const length = text.golden_tokens?.length ?? 0
  if (length === 0 && kind !== 'trained')
    return skip(
      'The manifest has no golden_tokens: the tokenizer was not compared with that of the training.',
    )
  if (length === 0)
    return warn(
      'The manifest has no golden_tokens, so nothing shows that texts have the token ids of the training: add texts with the ids ' +
        "of the training's tokenizer (docs/models.md).",
    )
  return pass(`${plural(length, 'golden text')} give the token ids of the training.`)
}

/** Rejects with a `ModelError` if the tokenizer cannot be used, has other golden tokens, or takes too long. */
async function openTokenizerAlone({ directory }: ModelPackage, text: TextManifest, log: Log): Promise<void> {
  const { tokenizer, ...settings } = textSettings(text)
  const file = { ...tokenizer, file: join(directory, tokenizer.file) }
  const plan = { ...settings, tokenizer: file, role: 'tokenizer' } as const
  const options = { name: 'the tokenizer', plan, bytesMax: tokenizerBytesMax, warmUpMsMax: minuteMs, log }
  const process = await SessionProcess.start(options)
  await process.starting(() => process.open())
  await process.stop()
}

export async function checkEncoder(
  model: TrialModel,
  name: EncoderName,
  manifest: Manifest,
): Promise<Outcome> {
  const encoder = model[name]
  if (encoder === null) return skip(`The model reads no ${name}s.`)
  const items = await trialItems(name)
  const tolerance = Math.max(vectorToleranceMin, manifest.golden?.tolerance ?? 0)
  const { problem, encodedCount } = await checkVectors(encoder, name, items, tolerance)
  if (problem !== null) return fail(problem)
  const batch = manifest[name]?.batch
  const cost = batch === undefined ? '' : ` ${await costOf(encoder, items, batch)}`
  return pass(`${plural(encodedCount, name)} give the same finite vectors alone and together.${cost}`)
}

/** Vectors of the trial texts or images; null: the model has no such encoder. */
export async function trialVectors(model: TrialModel, name: EncoderName): Promise<Float32Array | null> {
  const encoder = model[name]
  return encoder === null ? null : (await encoder.encode(await trialItems(name))).vectors
}

/** What a fixed number of rows per run costs. */
async function costOf(
  encoder: TextEncoder | ImageEncoder,
  items: readonly Uint8Array[],
  batch: number,
): Promise<string> {
  const startedAt = performance.now()
  await encoder.encode(items)
  const ms = (performance.now() - startedAt) / items.length
  return `They are encoded in runs of ${batch}, as the manifest states: ${ms.toFixed(1)} ms each.`
}

async function trialItems(name: EncoderName): Promise<Uint8Array[]> {
  if (name === 'text') return trialTexts.map((record) => Buffer.from(JSON.stringify(record)))
  return Promise.all([trialImage(1024, 700), trialImage(120, 900), trialImage(1, 1)])
}

async function trialImage(width: number, height: number): Promise<Buffer> {
  // Loading the library is slow, and most models read no images.
  const { default: sharp } = await import('sharp')
  const background = { r: width % 256, g: height % 256, b: 90 }
  return sharp({ create: { width, height, channels: 3, background } })
    .jpeg()
    .toBuffer()
}

/** Without a title, and in a template of the body alone without a body, a text may have no token, and then has no vector. */
function lacksText({ title, body_html: body }: (typeof trialTexts)[number]): boolean {
  return title === '' || body === undefined || body === null
}

async function checkVectors(
  encoder: TextEncoder | ImageEncoder,
  noun: string,
  items: readonly Uint8Array[],
  tolerance: number,
): Promise<{ readonly problem: string | null; readonly encodedCount: number }> {
  const { dim } = encoder
  let encodedCount = 0
  const failed = (problem: string) => ({ problem, encodedCount })
  const together = await encoder.encode(items)
  const again = await encoder.encode(items)
  for (const [index, item] of items.entries()) {
    const itemName = `${noun} ${index + 1} of the check`
    if (together.encoded[index] !== 1) {
      const reason = together.failures?.find((failure) => failure.item === index)?.reason
      if (reason === undefined && noun === 'text' && lacksText(trialTexts[index]!)) continue
      return failed(`The ${itemName} was not encoded${reason === undefined ? '' : `: ${reason}`}.`)
    }
    encodedCount++
    const vector = together.vectors.subarray(index * dim, (index + 1) * dim)
    if (!vector.every(Number.isFinite)) return failed(`The vector of ${itemName} is not finite.`)
    const largest = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 1)
    const repeated = vectorDifference(vector, again.vectors.subarray(index * dim, (index + 1) * dim))
    if (!(repeated <= vectorToleranceMin * largest))
      return failed(
        `The graph is not deterministic: the vector of ${itemName} differs by ${figure(repeated)} between two equal runs. ` +
          evaluationMode,
      )
    const difference = vectorDifference(vector, (await encoder.encode([item])).vectors)
    if (!(difference <= tolerance * largest))
      return failed(
        `The vector of ${itemName} differs by ${figure(difference)} alone and together. ${evaluationMode} One in half precision ` +
          'needs golden cases with a larger tolerance, one with dynamic quantisation "batch": 1 in the manifest.',
      )
  }
  return { problem: null, encodedCount }
}
