/**
 * What names a vector: the hash of everything that shapes it. Two versions with the same encoder share their
 * embeddings, and one that differs in anything that matters never meets the other's. The same for a whole model.
 */
import { createHash } from 'node:crypto'
import { headNames } from '../../contract/index.js'
import { headGraphs } from './parse-manifest.js'
import type { ImageManifest, Manifest, TextManifest } from './manifest.js'

/**
 * Counts changes of our own steps before the graph (HTML to text, token cut, resizing): a vector made by other steps is
 * another vector.
 */
const textSteps = 1
const imageSteps = 1

/** 64 hexadecimal digits. Members that are left out count as their defaults; providers and threads do not count. */
export function textEncoderHash(text: TextManifest): string {
  return hash({
    encoder: 'text',
    steps: textSteps,
    graph: text.sha256,
    tokenizer: text.tokenizer.sha256,
    template: text.template,
    tokens_max: text.tokens_max,
    pooling: text.pooling,
    normalize: text.normalize ?? false,
    dim: text.dim,
    inputs: {
      input_ids: text.inputs?.input_ids ?? 'input_ids',
      attention_mask: text.inputs?.attention_mask ?? 'attention_mask',
      token_type_ids: text.inputs?.token_type_ids ?? 'token_type_ids',
    },
    output: text.output ?? 'last_hidden_state',
    // The default is in the tokenizer's file, and that counts already.
    pad_token_id: text.pad_token_id ?? null,
  })
}

/** 64 hexadecimal digits; of the vector of one image, so how those of a post are pooled does not count. */
export function imageEncoderHash(image: ImageManifest): string {
  const { resize, crop } = image
  return hash({
    encoder: 'image',
    steps: imageSteps,
    graph: image.sha256,
    input: image.input,
    output: image.output,
    dim: image.dim,
    resize:
      'shortest_edge' in resize
        ? { shortest_edge: resize.shortest_edge }
        : { width: resize.width, height: resize.height },
    crop: crop === undefined ? null : { width: crop.width, height: crop.height },
    interpolation: image.interpolation ?? 'bicubic',
    channels: image.channels ?? 'rgb',
    layout: image.layout ?? 'nchw',
    scale: image.scale ?? 1 / 255,
    mean: image.mean,
    std: image.std,
    pool: image.pool ?? null,
  })
}

/**
 * 64 hexadecimal digits of everything that shapes a score. Two packages that share a version and differ in this are two
 * models under one name. Notes, provenance, golden cases, providers and threads do not count.
 */
export function modelIdentity(manifest: Manifest): string {
  const { features, missing, text, image } = manifest
  return hash({
    features,
    missing: missing ?? 'imputed',
    heads: headGraphs(manifest).map(({ sha256, inputs, outputs }) => ({
      graph: sha256,
      inputs: [inputs.features ?? null, inputs.text ?? null, inputs.image ?? null],
      outputs: headNames.map((name) => {
        const output = outputs[name]
        return output === undefined ? null : [output.name, output.column ?? 0, output.activation ?? 'none']
      }),
    })),
    text: text === undefined ? null : textEncoderHash(text),
    image: image === undefined ? null : [imageEncoderHash(image), image.pooling],
  })
}

/** Members are written in the order of the literals above, whatever the order in the manifest: that is canonical. */
function hash(parts: object): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
