/**
 * What the encoders of a package compute for single texts and images, with the steps before the vector: for `models embed`.
 * The heads are not loaded.
 */
import { withRelease } from '../base/index.js'
import { servingOptions } from './loaded-model.js'
import { ModelError, type TokenizedText } from './model.js'
import { pixelStatistics, type PixelStatistics } from './image/pixel-statistics.js'
import type { ModelPackage } from './package/read-package.js'
import {
  planModel,
  timeLimitMsDefault,
  type ImagePlan,
  type LoadOptions,
  type TextPlan,
} from './sessions/plans.js'
import { openEncoderHost } from './sessions/session-host.js'

/** A vector, or why there is none. */
export type Encoding =
  | { readonly vector: Float32Array; readonly problem: null }
  | { readonly vector: null; readonly problem: string }

/** `tokenized` is null if the record cannot be read, or not be tokenized. */
export type TextEncoding = Encoding & { readonly tokenized: TokenizedText | null }

export type ImageEncoding = Encoding & {
  /** null: the image cannot be read. */
  readonly pixels: PixelStatistics | null
}

/** Each text alone. `records`: candidates as JSON. Rejects with a `ModelError` if the package has no text encoder, or it fails. */
export async function encodeTexts(
  modelPackage: ModelPackage,
  records: readonly Uint8Array[],
  options: LoadOptions,
): Promise<TextEncoding[]> {
  if (records.length === 0) return []
  const plan = required(planModel(modelPackage, options).text, modelPackage, 'text')
  const encoded = await encodeEach(plan, records, options)
  return encoded.map(({ tokenized, encoding }) => ({ tokenized, ...encoding }))
}

/** Each image alone. `images`: normalised JPEGs. Rejects with a `ModelError` if the package has no image encoder, or it fails. */
export async function encodeImages(
  modelPackage: ModelPackage,
  images: readonly Uint8Array[],
  options: LoadOptions,
): Promise<ImageEncoding[]> {
  if (images.length === 0) return []
  const plan = required(planModel(modelPackage, options).image, modelPackage, 'image')
  // Loading the library is slow, and most packages read no images.
  const { Preprocessor } = await import('./image/preprocess.js')
  const preprocessor = new Preprocessor(plan)
  const encoded = await encodeEach(plan, images, options)
  return Promise.all(
    images.map(async (image, index) => {
      const { encoding } = encoded[index]!
      const tensor = await preprocessor.tensorOf(image).catch(() => null)
      return { pixels: tensor && pixelStatistics(tensor, plan), ...encoding }
    }),
  )
}

function required<Plan>(plan: Plan | null, { manifest }: ModelPackage, encoder: 'text' | 'image'): Plan {
  if (plan === null) throw new ModelError(`model ${manifest.model_version} has no ${encoder} encoder`)
  return plan
}

interface Encoded {
  readonly tokenized: TokenizedText | null
  readonly encoding: Encoding
}

/** Encodes one by one: padding to a longer text changes the last bits of a vector. */
async function encodeEach(
  plan: TextPlan | ImagePlan,
  items: readonly Uint8Array[],
  options: LoadOptions,
): Promise<Encoded[]> {
  const host = await openEncoderHost(plan, servingOptions(options))
  const encode = async (item: Uint8Array): Promise<Encoded> => {
    const request = { items: [item], budgetMs: null, withTokens: true }
    const reply = await host.run(request, options.timeLimitMs ?? timeLimitMsDefault)
    const tokenized = reply.tokenized?.[0] ?? null
    if (reply.encoded[0] === 1) return { tokenized, encoding: { vector: reply.vectors, problem: null } }
    const problem = reply.failures?.[0]?.reason ?? 'it is empty'
    return { tokenized, encoding: { vector: null, problem } }
  }
  const encodings: Encoded[] = []
  const encodeAll = async (): Promise<Encoded[]> => {
    for (const item of items) encodings.push(await encode(item))
    return encodings
  }
  return withRelease(encodeAll, () => host.close())
}
