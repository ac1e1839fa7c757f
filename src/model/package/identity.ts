/**
 * Hashes of everything that affects a vector or a score. Embeddings are stored under the hash of their encoder, so that
 * two versions with the same encoder share them, and encoders that differ in anything relevant do not.
 */
import { createHash } from 'node:crypto'
import { headNames } from '../../contract/index.js'
import { featureNames, headGraphs, missingEmbeddings } from './parse-manifest.js'
import type { GraphManifest, HeadOutput, ImageManifest, Manifest, TextManifest } from './manifest.js'
import { headSettings, imageSettings, textSettings } from './settings.js'

/**
 * Versions of the preprocessing in this program (HTML to text, truncation, resizing). Raise one when its preprocessing
 * changes the vectors: stored ones are then computed again.
 */
const textPreprocessing = 1
const imagePreprocessing = 2

/**
 * The version in identities. These describe the files of a package, and servers have stored them: after an update of this
 * program the same files must not be refused as other files under a used version.
 */
const identityPreprocessing = 1

/** 64 hexadecimal digits. Absent members count as their defaults; providers and threads are not included. */
export function textEncoderHash(text: TextManifest, steps = textPreprocessing): string {
  const { sha256, tokenizer, template, tokens_max, pooling, normalize, dim, inputs, output, pad_token_id } =
    textSettings(text)
  return hash({
    encoder: 'text',
    steps,
    graph: sha256,
    tokenizer: tokenizer.sha256,
    template,
    tokens_max,
    pooling,
    normalize,
    dim,
    inputs,
    output,
    // Its default is in the tokenizer's file, whose hash is included.
    pad_token_id,
    ...graphIdentity(text),
  })
}

/** 64 hexadecimal digits. Describes the vector of one image, so the pooling over a post's images is not included. */
export function imageEncoderHash(image: ImageManifest, steps = imagePreprocessing): string {
  const settings = imageSettings(image)
  const { sha256, input, output, dim, resize, pad, crop } = settings
  const { interpolation, channels, layout, scale, mean, std, pool } = settings
  return hash({
    encoder: 'image',
    steps,
    graph: sha256,
    input,
    output,
    dim,
    resize: 'shortest_edge' in resize ? resize : { width: resize.width, height: resize.height },
    crop: crop === null ? null : { width: crop.width, height: crop.height },
    interpolation,
    channels,
    layout,
    scale,
    mean,
    std,
    pool,
    ...(pad === null ? {} : { pad: { color: pad.color, side: pad.side } }),
    ...graphIdentity(image),
  })
}

/**
 * 64 hexadecimal digits of everything in a package that affects a score. Two packages with one version and different
 * identities are different models. Notes, provenance, golden cases, providers and threads are not included.
 */
export function modelIdentity(manifest: Manifest): string {
  const { missing, galleries, text, image } = manifest
  // Included only if it is not the default: identities that servers have stored must not change.
  const embeddings = (['text', 'image'] as const).filter(
    (encoder) => Number.isNaN(missingEmbeddings(manifest)[encoder]) !== (missing === 'nan'),
  )
  return hash({
    features: featureNames(manifest),
    missing: missing ?? 'imputed',
    heads: headGraphs(manifest).map(({ sha256, inputs, outputs, ...graph }) => ({
      graph: sha256,
      ...graphIdentity(graph),
      inputs: [inputs.features ?? null, inputs.text ?? null, inputs.image ?? null],
      ...(inputs.gallery_index === undefined ? {} : { gallery_index: inputs.gallery_index }),
      outputs: headNames.map((name) => {
        const output = outputs[name]
        return output === undefined ? null : outputIdentity(output)
      }),
    })),
    text: text === undefined ? null : textEncoderHash(text, identityPreprocessing),
    image: image === undefined ? null : [imageEncoderHash(image, identityPreprocessing), image.pooling],
    ...(galleries === undefined ? {} : { galleries }),
    ...(embeddings.length === 0 ? {} : { embeddings_not_missing_as_features: embeddings }),
  })
}

/** Members of a graph that are included only if they are present: the first versions of this program did not know them. */
function graphIdentity({
  batch,
  external_data: data,
}: Pick<GraphManifest, 'batch' | 'external_data'>): object {
  return {
    ...(batch === undefined ? {} : { batch }),
    ...(data === undefined ? {} : { external_data: data.map(({ sha256 }) => sha256) }),
  }
}

/** Members that the first versions of this program did not know are included only if they have an effect. */
function outputIdentity(output: HeadOutput): unknown[] {
  const { name, column, activation, scale, offset, squeeze, transposed } = headSettings(output)
  const isPlain = scale === 1 && offset === 0 && !squeeze && !transposed
  return [name, column ?? 0, activation, ...(isPlain ? [] : [{ scale, offset, squeeze, transposed }])]
}

/** Canonical: members come in the order of the literals above, whatever their order in the manifest. */
function hash(parts: object): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
