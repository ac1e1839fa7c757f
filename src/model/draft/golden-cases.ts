/**
 * Takes golden cases into a package: the cases become its `golden.json`, and golden tokens beside them members of its manifest.
 */
import { hash } from 'node:crypto'
import { join, resolve } from 'node:path'
import typia from 'typia'
import { writeFileDurably } from '../../base/index.js'
import { parseTyped } from '../package/parse-typed.js'
import { readBytes } from '../package/read-file.js'
import type { GoldenTokens, Manifest } from '../package/manifest.js'
import { parseGolden, type GoldenFile } from '../verification/golden.js'

export const goldenFileName = 'golden.json'
/** Another library resizes images with differences of about 1e-4 in a head. */
const imageTolerance = 0.001

/** A file as `golden_cases.py` writes it. Golden tokens are optional. */
interface GoldenDelivery extends GoldenFile {
  golden_tokens?: GoldenTokens[]
}

const fileType = typia.json.schema<GoldenDelivery>()

export interface TakenGolden {
  readonly manifest: Manifest
  readonly caseCount: number
  readonly tokenCount: number
}

/** The manifest with the cases. Rejects with a `ModelError` if the file does not fit the manifest; then nothing is written. */
export async function takeGolden(directory: string, drafted: Manifest, file: string): Promise<TakenGolden> {
  const bytes = await readBytes(file)
  const { golden_tokens: tokens = [], ...delivered } = parseTyped(bytes.toString('utf8'), file, fileType)
  const { cases, missing } = delivered
  const hasNulls = cases.some(({ features = {} }) => Object.values(features).includes(null))
  const isOpen = drafted.draft?.includes('missing') === true
  // The value with which `fitToGolden` begins, unless the file states one.
  const manifest = isOpen ? withMissing(drafted, missing, hasNulls ? 'nan' : drafted.missing) : drafted
  parseGolden(JSON.stringify(delivered), file, manifest)
  const target = join(directory, goldenFileName)
  const isInPlace = resolve(file) === resolve(target) && tokens.length === 0
  const content = isInPlace ? bytes : `${JSON.stringify(delivered, null, 1)}\n`
  if (!isInPlace) writeFileDurably(target, content)
  const hasImages = cases.some(({ images = [] }) => images.length > 0)
  const { text, golden } = manifest
  return {
    manifest: {
      ...manifest,
      ...(text === undefined || tokens.length === 0 ? {} : { text: { ...text, golden_tokens: tokens } }),
      golden: {
        ...(hasImages ? { tolerance: imageTolerance } : {}),
        ...golden,
        file: goldenFileName,
        sha256: hash('sha256', content),
      },
    },
    caseCount: cases.length,
    tokenCount: tokens.length,
  }
}

/** What is stated is no guess. */
function withMissing(
  { draft = [], ...manifest }: Manifest,
  stated: Manifest['missing'],
  guessed: Manifest['missing'],
): Manifest {
  const missing = stated ?? guessed
  return {
    ...manifest,
    ...(missing === undefined ? {} : { missing }),
    draft: stated === undefined ? draft : draft.filter((member) => member !== 'missing'),
  }
}
