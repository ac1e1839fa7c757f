/**
 * The heads and encoders of a manifest with every default filled in. Plans, port checks and hashes read these; the members keep
 * their names.
 */
import type { HeadOutput, ImageManifest, TextManifest } from './manifest.js'

/** `column` null: the only one. `activation` none: the value is a share. */
export type HeadSettings = Readonly<ReturnType<typeof headSettings>>
/** `pooling` null: the graph pools. `pad_token_id` null: the value in `tokenizer.json`, else 0. */
export type TextSettings = Readonly<ReturnType<typeof textSettings>>
/** `pad` and `crop` null: none. `mean` and `std` null: the graph takes bytes. `pool` null: the output is [N, dim]. */
export type ImageSettings = Readonly<ReturnType<typeof imageSettings>>

export function headSettings(output: HeadOutput) {
  return {
    column: null,
    scale: 1,
    offset: 0,
    activation: 'none' as const,
    squeeze: false,
    transposed: false,
    ...output,
  }
}

export function textSettings(text: TextManifest) {
  return {
    pooling: null,
    normalize: false,
    output: 'last_hidden_state',
    pad_token_id: null,
    golden_tokens: [],
    ...text,
    // Hugging Face's names.
    inputs: {
      input_ids: 'input_ids',
      attention_mask: 'attention_mask',
      token_type_ids: 'token_type_ids',
      ...text.inputs,
    },
  }
}

export function imageSettings(image: ImageManifest) {
  return {
    pad: null,
    crop: null,
    interpolation: 'bicubic' as const,
    channels: 'rgb' as const,
    layout: 'nchw' as const,
    scale: 1 / 255,
    mean: null,
    std: null,
    pool: null,
    required: false,
    ...image,
  }
}
