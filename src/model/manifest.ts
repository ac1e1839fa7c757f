/**
 * `manifest.json` of a model package: its type, and the check that tells an author what is wrong and where.
 * Members that are not known are refused: what this service does not understand, it must not leave out.
 */
import typia, { type IValidation, type tags } from 'typia'
import { headNames, type HeadName } from '../contract/index.js'
import { ModelError } from './model.js'

/** A file or directory inside the package: no separators, no leading dot. */
export type PlainName = string & tags.Pattern<'^[A-Za-z0-9][A-Za-z0-9._-]*$'>
type Sha256 = string & tags.Pattern<'^[0-9a-f]{64}$'>
type Index = number & tags.Type<'uint32'>

export interface Manifest {
  /** Label of every score, and the name of the package's directory. */
  model_version: PlainName
  /** A transport test is no trained model: it proves the way of the data, not the worth of the scores. */
  kind: 'trained' | 'transport-test'
  note?: string
  /** Catalogue names in the order of the input's columns. */
  features: (string[] & tags.MinItems<1>) & tags.UniqueItems
  head: HeadManifest
  /** Providers on which the model was checked; others that the service is configured with are passed over. */
  execution_providers?: string[] & tags.MinItems<1>
  /** Threads of one batch, where the service is not configured otherwise. */
  intra_op_threads?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<256>
}

/** The graph from features to heads. */
export interface HeadManifest {
  file: PlainName
  sha256: Sha256
  /** Name of the graph input [N, features], float32. */
  input: string & tags.MinLength<1>
  /** Where each head is found. At least one of `p_views`, `p_comments` and `p_up` is. */
  outputs: { [Name in HeadName]?: HeadOutput }
}

/** A column of the float32 output `name` [N, columns]; without `column`, the only one of an output [N] or [N, 1]. */
export interface HeadOutput {
  name: string & tags.MinLength<1>
  column?: Index
}

const validate = typia.createValidateEquals<Manifest>()
const scoredHeads = headNames.filter((name) => name !== 'downvote_share')

/**
 * The manifest in `text`. Throws a `ModelError` that names `file`, each failing path and the rule it breaks.
 */
export function parseManifest(text: string, file: string): Manifest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ModelError(`${file} is not JSON: ${(cause as Error).message}`, { cause })
  }
  const report = validate(value)
  if (!report.success) throw new ModelError(report.errors.map((error) => wording(file, error)).join('\n'))
  if (!scoredHeads.some((name) => report.data.head.outputs[name] !== undefined)) {
    throw new ModelError(`${file}: head.outputs must have at least one of ${scoredHeads.join(', ')}`)
  }
  return report.data
}

function wording(file: string, { path, value, expected }: IValidation.IError): string {
  const place = path === '$input' ? 'the manifest' : path.replace(/^\$input\.?/, '')
  if (expected === 'undefined') return `${file}: ${place} is not known`
  if (value === undefined) return `${file}: ${place} is required`
  return `${file}: ${place} must be ${expected}, and is ${JSON.stringify(value)}`
}
