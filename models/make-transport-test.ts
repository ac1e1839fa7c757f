/**
 * Makes the package `transport-test-1`: a network with fixed pseudo-random weights. It tests the data path from a cycle to
 * its scores; its predictions have no meaning.
 * `scripts/pinned node --import ./bench/typescript.mjs models/make-transport-test.ts [directory]`. Same bytes each time.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeModel } from './onnx-writer.js'
import { mulberry32 } from '../src/base/mulberry32.js'
import { approximateNormal } from './random.js'

const shippedVersion = 'transport-test-1'
const note =
  'Transport test with pseudo-random weights. Not a trained model: its outputs are no predictions of anything.'
const heads = ['p_views', 'p_comments', 'p_up', 'downvote_share']
/** Moves each head near 0.5 for an ordinary post; with pseudo-random weights it would be arbitrary. */
const headBiases = [-0.5, 0.8, -1.8, 0.5]
const hiddenCounts = [128, 64]
const shippedSeed = 20_240_607
const goldenSeed = 20_260_601
const goldenCount = 5

/** Features with their mean and standard deviation over ordinary posts, which normalise the inputs. */
const inputs: readonly (readonly [name: string, mean: number, deviation: number])[] = [
  ['views_log', 6, 1.5],
  ['up_log', 2.5, 1.2],
  ['down_log', 1, 1],
  ['comment_cnt_log', 2.5, 1.2],
  ['rtb_vote_log', 0.7, 0.9],
  ['views_missing', 0, 0.2],
  ['up_missing', 0, 0.2],
  ['down_missing', 0, 0.2],
  ['comment_cnt_missing', 0, 0.2],
  ['rtb_vote_missing', 0, 0.2],
  ['up_per_view', 0.03, 0.04],
  ['comments_per_view', 0.03, 0.04],
  ['down_share', 0.15, 0.2],
  ['up_share_smoothed', 0.8, 0.2],
  ['rtb_per_up', 0.1, 0.3],
  ['votes_log', 2.6, 1.2],
  ['previous_present', 0.9, 0.3],
  ['previous_minutes_log', 1.6, 0.6],
  ['views_gain_log', 3, 1.5],
  ['up_gain_log', 0.8, 0.9],
  ['comment_cnt_gain_log', 0.8, 0.9],
  ['views_per_hour', 5.5, 2],
  ['up_per_hour', 2, 1.6],
  ['comment_cnt_per_hour', 2, 1.6],
  ['views_per_hour_of_life', 5.5, 1.5],
  ['up_per_hour_of_life', 2, 1.2],
  ['comment_cnt_per_hour_of_life', 2, 1.2],
  ['views_momentum', 0, 1.5],
  ['up_gain_per_view_gain', 0.03, 0.06],
  ['created_age_days', 0.25, 0.25],
  ['created_age_log', 1.6, 0.8],
  ['extracted_age_log', 1.2, 0.8],
  ['extraction_delay_log', 0.5, 0.5],
  ['reading_age_log', 0.03, 0.05],
  ['cycle_hour_sin', 0, 0.7],
  ['cycle_hour_cos', 0, 0.7],
  ['created_hour_sin', 0, 0.7],
  ['created_hour_cos', 0, 0.7],
  ['title_chars_log', 3, 0.5],
  ['title_hangul_share', 0.65, 0.2],
  ['title_jamo_share', 0.04, 0.1],
  ['title_laughs_share', 0.03, 0.08],
  ['title_questions_log', 0.15, 0.3],
  ['title_punctuation_share', 0.06, 0.08],
  ['body_present', 0.9, 0.3],
  ['body_chars_log', 5, 1.5],
  ['body_hangul_share', 0.65, 0.2],
  ['body_tags_log', 2, 1],
  ['body_links_log', 0.2, 0.5],
  ['images_in_post_log', 0.9, 0.8],
  ['images_stored_share', 0.8, 0.35],
  ['source_score', 0.4, 0.5],
  ['source_keyword', 0.2, 0.4],
  ['source_vote', 0.2, 0.4],
  ['source_manual', 0.05, 0.2],
  ['manual_flag', 0.05, 0.2],
  ['gallery_main', 0.4, 0.5],
  ['gallery_minor', 0.4, 0.5],
  ['category_present', 0.5, 0.5],
  ['snapshot_present', 0.5, 0.5],
  ['snapshot_recommend_up_cnt_total_log', 1.2, 1.4],
  ['snapshot_hit_cnt_total_log', 3, 3],
  ['snapshot_hit_cnt_mobile_share', 0.3, 0.3],
  ['snapshot_upimg_height', 0.05, 0.1],
]

/** A fully connected layer. `weights` is row-major [inputCount, outputCount]. */
export interface Layer {
  readonly inputCount: number
  readonly outputCount: number
  readonly weights: Float32Array
  readonly biases: Float32Array
}

/** The layers of the network: a ReLU follows each layer except the last, which a sigmoid follows. */
export function makeLayers(seed = shippedSeed): Layer[] {
  const random = mulberry32(seed)
  const counts = [inputs.length, ...hiddenCounts, heads.length]
  return counts.slice(1).map((outputCount, index) => {
    const inputCount = counts[index]!
    const isFirst = index === 0
    const isLast = index === hiddenCounts.length
    // He initialisation, which preserves the variance through ReLU; a smaller value keeps heads away from 0 and 1.
    const deviation = Math.sqrt((isLast ? 1.5 : 2) / inputCount)
    const weights = new Float32Array(inputCount * outputCount)
    const biases = new Float32Array(outputCount)
    for (let output = 0; output < outputCount; output++) {
      let bias = isLast ? headBiases[output]! : 0.2 * approximateNormal(random)
      for (let input = 0; input < inputCount; input++) {
        const weight = deviation * approximateNormal(random)
        const [, mean, scale] = isFirst ? inputs[input]! : ['', 0, 1]
        weights[input * outputCount + output] = weight / scale
        bias -= (weight * mean) / scale
      }
      biases[output] = bias
    }
    return { inputCount, outputCount, weights, biases }
  })
}

/** The heads of one row in double precision. The graph computes the same, except for rounding. */
export function forward(layers: readonly Layer[], row: readonly number[]): number[] {
  return layers.reduce<number[]>(
    (values, { outputCount, weights, biases }, index) =>
      Array.from(biases, (bias, output) => {
        const sum = values.reduce(
          (total, value, input) => total + value * weights[input * outputCount + output]!,
          bias,
        )
        return index === layers.length - 1 ? 1 / (1 + Math.exp(-sum)) : Math.max(sum, 0)
      }),
    [...row],
  )
}

/** Rows around the mean of every feature. Their heads have six digits, so the bytes are the same on every machine. */
function goldenCases(layers: readonly Layer[]): object[] {
  const random = mulberry32(goldenSeed)
  return Array.from({ length: goldenCount }, (_, index) => {
    const row = inputs.map(([, mean, deviation]) =>
      rounded(mean + (index === 0 ? 0 : deviation * approximateNormal(random)), 3),
    )
    return {
      name: index === 0 ? 'the middle of every feature' : `around the middle, ${index}`,
      features: Object.fromEntries(inputs.map(([name], column) => [name, row[column]])),
      heads: Object.fromEntries(heads.map((name, head) => [name, rounded(forward(layers, row)[head]!, 6)])),
    }
  })
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** The files of the package, by name. Another seed gives another network of the same shape. */
export function makePackage(
  version = shippedVersion,
  seed = shippedSeed,
): Record<string, string | Uint8Array> {
  const layers = makeLayers(seed)
  const names = layers.map((_, index) => `layer${index + 1}`)
  const head = writeModel({
    name: version,
    note,
    inputs: [{ name: 'features', shape: ['N', inputs.length] }],
    outputs: [{ name: 'probs', shape: ['N', heads.length] }],
    constants: layers.flatMap(({ inputCount, outputCount, weights, biases }, index) => [
      { name: `${names[index]}.weights`, shape: [inputCount, outputCount], values: weights },
      { name: `${names[index]}.biases`, shape: [outputCount], values: biases },
    ]),
    operators: names.flatMap((name, index) => {
      const isLast = index === names.length - 1
      const source = index === 0 ? 'features' : `${names[index - 1]}.active`
      return [
        { type: 'Gemm', inputs: [source, `${name}.weights`, `${name}.biases`], outputs: [`${name}.sum`] },
        {
          type: isLast ? 'Sigmoid' : 'Relu',
          inputs: [`${name}.sum`],
          outputs: [isLast ? 'probs' : `${name}.active`],
        },
      ]
    }),
  })
  const golden = JSON.stringify({ cases: goldenCases(layers) }, null, 2) + '\n'
  const manifest = {
    $schema: '../../docs/manifest.schema.json',
    model_version: version,
    kind: 'transport-test',
    provenance: { trained_on: 'nothing' },
    note,
    head: {
      file: 'head.onnx',
      sha256: sha256(head),
      inputs: { features: 'features' },
      outputs: Object.fromEntries(heads.map((name, column) => [name, { name: 'probs', column }])),
    },
    features: inputs.map(([name]) => name),
    golden: { file: 'golden.json', sha256: sha256(golden) },
  }
  return {
    'manifest.json': JSON.stringify(manifest, null, 2) + '\n',
    'head.onnx': head,
    'golden.json': golden,
  }
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

function main(directory: string): void {
  mkdirSync(directory, { recursive: true })
  for (const [file, content] of Object.entries(makePackage())) writeFileSync(join(directory, file), content)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main(process.argv[2] ?? fileURLToPath(new URL(`./${shippedVersion}/`, import.meta.url)))
}
