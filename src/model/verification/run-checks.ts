/**
 * Checks that run the model: golden cases, extreme inputs, and independence of a row's heads from the rest of the batch.
 * Every load runs them, since a valid file may hold a broken model.
 */
import { headNames, type HeadColumns, type HeadName } from '../../contract/index.js'
import { goldenToleranceDefault, readGolden, runGolden, type GoldenSubject } from '../golden.js'
import { headsOf, type ModelPackage } from '../package/index.js'
import { ModelError, type Model, type ModelInputs } from '../model.js'
import { attempt, counted, fail, pass, skip, type CheckLine } from './report.js'
import { manyKinds, reordered, shuffled, trialInputs, trialKinds, type TrialKind } from './trial-inputs.js'

/** The part of a model that the checks use. */
export type TrialModel = GoldenSubject & Pick<Model, 'text' | 'image' | 'predict'>

/** Rows of a full pool. */
export const trialRowCount = 5000
const aloneRowCount = 12
const partRowCount = 600
const invarianceToleranceDefault = 1e-5
/** Vectors of one text alone and among others: padding changes the order of sums. */
const vectorTolerance = 1e-4
/** For the few texts of a check; a bound, not an expectation. */
const encodeMsMax = 60_000
const seed = 20_260_601

/** Throws a `ModelError` with every check that failed. */
export async function assertChecksPass(model: TrialModel, modelPackage: ModelPackage): Promise<void> {
  const failed = (await checkRuns(model, modelPackage)).filter(({ state }) => state === 'fail')
  if (failed.length === 0) return
  throw new ModelError(
    `model ${modelPackage.manifest.model_version} does not pass its checks: ` +
      failed.map(({ check, sentence }) => `${check}: ${sentence}`).join(' '),
  )
}

/** One line a check, in the order of a report. */
export async function checkRuns(model: TrialModel, modelPackage: ModelPackage): Promise<CheckLine[]> {
  return [
    await attempt('golden', () => checkGolden(model, modelPackage)),
    await attempt('extremes', () => checkExtremes(model)),
    await attempt('batches', () => checkBatches(model, modelPackage)),
    await attempt('text', () => checkText(model)),
    await attempt('image', () => checkImage(model)),
  ]
}

/** Inputs for a model with these encoders: ordinary rows with some of every other kind among them. */
export function trialRows(
  model: Pick<TrialModel, 'text' | 'image'>,
  kinds: readonly TrialKind[],
): ModelInputs {
  return trialInputs(kinds, { textDim: model.text?.dim ?? null, imageDim: model.image?.dim ?? null, seed })
}

/** Largest absolute difference between heads of the same rows, and where. `rows`: row i of `b` is `rows[i]` of `a`. */
export function differenceOf(
  a: HeadColumns,
  b: HeadColumns,
  rows: readonly number[],
): { readonly value: number; readonly head: HeadName; readonly row: number } {
  let worst = { value: 0, head: headNames[0] as HeadName, row: 0 }
  for (const head of headNames) {
    const [columnA, columnB] = [a[head], b[head]]
    if (columnA === null || columnB === null) continue
    rows.forEach((row, index) => {
      const value = Math.abs((columnA[row] as number) - (columnB[index] as number))
      // NaN is the worst.
      if (!(value <= worst.value)) worst = { value, head, row }
    })
  }
  return worst
}

/** A number in a report, with three digits. */
export function figure(value: number): string {
  return value === 0 ? '0' : value.toPrecision(3)
}

async function checkGolden(model: TrialModel, modelPackage: ModelPackage): Promise<CheckLine> {
  const golden = await readGolden(modelPackage)
  if (golden === null) {
    return skip('golden', 'The manifest names no golden cases; `understudy models golden` records some.')
  }
  const tolerance = modelPackage.manifest.golden?.tolerance ?? goldenToleranceDefault
  const { differenceMax, misses } = await runGolden(model, modelPackage, golden, encodeMsMax)
  const cases = counted(golden.cases.length, 'golden case')
  const [first] = misses
  if (first === undefined) {
    return pass(
      'golden',
      `${cases}: the largest difference of a head is ${figure(differenceMax)}, and may be ${tolerance}.`,
    )
  }
  return fail(
    'golden',
    `${counted(misses.length, 'head')} of ${cases} differ by more than ${tolerance}; the first is ${first.head} of ` +
      `${first.case}: ${figure(first.found)}, and should be ${figure(first.expected)}; they differ by ` +
      `${figure(Math.abs(first.found - first.expected))}.`,
  )
}

async function checkExtremes(model: TrialModel): Promise<CheckLine> {
  const rowsPerKind = 16
  const kinds = trialKinds.filter((kind) => kind !== 'ordinary')
  for (const kind of kinds) {
    try {
      checkShares(await model.predict(trialRows(model, new Array<TrialKind>(rowsPerKind).fill(kind))))
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      return fail('extremes', `Rows of kind "${kind}" (${kindWords[kind]}): ${error.message}.`)
    }
  }
  return pass(
    'extremes',
    `Heads are finite and within 0 to 1 for rows where ${kinds.map((kind) => kindWords[kind]).join(', ')}.`,
  )
}

const kindWords: Readonly<Record<TrialKind, string>> = {
  ordinary: 'values are ordinary',
  missing: 'all optional values are missing',
  zeros: 'all values are zero',
  huge: 'counters have their maximum',
  mixed: 'each value is of another kind',
}

/** `predict` guarantees it; the check does not rely on that. */
function checkShares(heads: HeadColumns): void {
  for (const head of headNames) {
    const bad = heads[head]?.findIndex((value) => !(value >= 0 && value <= 1)) ?? -1
    if (bad >= 0) throw new ModelError(`head ${head} is ${heads[head]?.[bad]} in row ${bad}`)
  }
}

async function checkBatches(model: TrialModel, { manifest }: ModelPackage): Promise<CheckLine> {
  const tolerance = manifest.golden?.tolerance ?? invarianceToleranceDefault
  const inputs = trialRows(model, manyKinds(trialRowCount))
  const all = await model.predict(inputs)
  const order = shuffled(trialRowCount, seed)
  const alone = order.slice(0, aloneRowCount).map((row) => [row])
  const batches = [...alone, order.slice(0, partRowCount), order]
  let worst = 0
  for (const rows of batches) {
    const { value, head, row } = differenceOf(all, await model.predict(reordered(inputs, rows)), rows)
    if (!(value <= tolerance)) {
      return fail(
        'batches',
        `A row does not score the same ${rows.length === 1 ? 'alone' : `among ${counted(rows.length, 'row')} in another order`} ` +
          `as among ${counted(trialRowCount, 'row')}: ${head} of row ${row} differs by ${figure(value)}, and may by ` +
          `${tolerance}. The graph must treat each row by itself.`,
      )
    }
    worst = Math.max(worst, value)
  }
  const heads = headsOf(manifest).join(', ')
  return pass(
    'batches',
    `Rows give the same ${heads} alone, among ${partRowCount} and among ${counted(trialRowCount, 'row')} in ` +
      `another order: the largest difference is ${figure(worst)}, and may be ${tolerance}.`,
  )
}

/** Vectors of the trial texts or images; null: the model has no such encoder. */
export async function trialVectors(
  { text, image }: TrialModel,
  encoder: 'text' | 'image',
): Promise<Float32Array | null> {
  if (encoder === 'text')
    return text === null ? null : (await text.encode(trialRecords(), encodeMsMax)).vectors
  return image === null ? null : (await image.encode(await trialPictures())).vectors
}

const trialTexts: readonly { title: string; body_html?: string | null }[] = [
  { title: '안녕하세요 ㅋㅋㅋㅋ', body_html: '<p>오늘 있었던 일<br>사진 <img src="a.jpg"> 봐라</p>' },
  { title: 'plain ASCII title 1234', body_html: null },
  { title: '' },
  { title: '🙂', body_html: '&amp;&lt;b&gt; &#x1F642;' },
  { title: '漢字とかな', body_html: '<div><script>nothing()</script>글</div>' },
  { title: '긴 글', body_html: `<p>${'가나다라 마바사 '.repeat(3000)}</p>` },
]

function trialRecords(): Buffer[] {
  return trialTexts.map((record) => Buffer.from(JSON.stringify(record)))
}

function trialPictures(): Promise<Buffer[]> {
  return Promise.all([trialPicture(1024, 700), trialPicture(120, 900), trialPicture(1, 1)])
}

async function checkText({ text }: TrialModel): Promise<CheckLine> {
  if (text === null) return skip('text', 'The model reads no texts.')
  const records = trialRecords()
  const problem = await vectorProblem(records, 'text', text.dim, (some) => text.encode(some, encodeMsMax))
  return problem === null
    ? pass('text', `${counted(records.length, 'text')} give the same finite vectors alone and together.`)
    : fail('text', problem)
}

async function checkImage({ image }: TrialModel): Promise<CheckLine> {
  if (image === null) return skip('image', 'The model reads no images.')
  const pictures = await trialPictures()
  const problem = await vectorProblem(pictures, 'image', image.dim, (some) => image.encode(some))
  return problem === null
    ? pass('image', `${counted(pictures.length, 'picture')} give the same finite vectors alone and together.`)
    : fail('image', problem)
}

async function trialPicture(width: number, height: number): Promise<Buffer> {
  // Loading the library is slow, and most models read no images.
  const { default: sharp } = await import('sharp')
  const background = { r: width % 256, g: height % 256, b: 90 }
  return sharp({ create: { width, height, channels: 3, background } })
    .jpeg()
    .toBuffer()
}

async function vectorProblem(
  items: readonly Uint8Array[],
  noun: string,
  dim: number,
  encode: (
    items: readonly Uint8Array[],
  ) => Promise<{ readonly vectors: Float32Array; readonly encoded: Uint8Array }>,
): Promise<string | null> {
  const together = await encode(items)
  for (const [index, item] of items.entries()) {
    if (together.encoded[index] !== 1) return `The ${noun} ${index + 1} of the check was not encoded.`
    const among = together.vectors.subarray(index * dim, (index + 1) * dim)
    if (!among.every(Number.isFinite)) return `The vector of ${noun} ${index + 1} of the check is not finite.`
    const { vectors } = await encode([item])
    const scale = among.reduce((max, value) => Math.max(max, Math.abs(value)), 1)
    const difference = among.reduce(
      (max, value, i) => Math.max(max, Math.abs(value - (vectors[i] as number))),
      0,
    )
    if (!(difference <= vectorTolerance * scale)) {
      return `The vector of ${noun} ${index + 1} of the check differs by ${figure(difference)} alone and together.`
    }
  }
  return null
}
