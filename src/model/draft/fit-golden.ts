/**
 * Golden cases decide between the alternatives of what was guessed: the first combination that gives the heads of the training is
 * taken, and what the cases have tested is no guess any more.
 */
import { withRelease } from '../../base/index.js'
import { loadPackage } from '../loaded-model.js'
import type { Manifest } from '../package/manifest.js'
import type { ModelPackage } from '../package/read-package.js'
import type { LoadOptions } from '../sessions/plans.js'
import {
  mismatchText,
  readGolden,
  runGolden,
  type GoldenCase,
  type GoldenFile,
} from '../verification/golden.js'
import { figure } from '../verification/trial-model.js'
import type { Finding } from './findings.js'

export interface Fit {
  readonly manifest: Manifest
  /** Those of the draft, with what the cases have decided. */
  readonly findings: readonly Finding[]
}

/** A member that may have been guessed, and the values that it may have. */
interface Choice {
  /** Absent: a member of the package. */
  readonly encoder?: 'text' | 'image'
  readonly name: string
  readonly values: readonly (string | boolean)[]
  readonly default?: string | boolean
}

const choices: readonly Choice[] = [
  { name: 'missing', values: ['imputed', 'nan'], default: 'imputed' },
  { encoder: 'text', name: 'normalize', values: [false, true], default: false },
  { encoder: 'text', name: 'pooling', values: ['mean', 'cls'] },
  { encoder: 'image', name: 'pool', values: ['mean', 'cls'] },
  { encoder: 'image', name: 'interpolation', values: ['bicubic', 'bilinear'], default: 'bicubic' },
]

/** The largest difference of a head that half precision explains. */
const roundingMax = 0.001

function memberOf({ encoder, name }: Choice): string {
  return encoder === undefined ? name : `${encoder}.${name}`
}

/** Takes a package on disk with golden cases. Rejects with a `ModelError` if the cases cannot be read. */
export async function fitToGolden(
  modelPackage: ModelPackage,
  drafted: readonly Finding[],
  options: LoadOptions,
): Promise<Fit> {
  const { manifest } = modelPackage
  const findings = drafted.map((finding) => stated(finding, manifest))
  const golden = await readGolden(modelPackage)
  if (golden === null) return { manifest, findings }
  const guessed = new Set(findings.filter(({ state }) => state === 'guessed').map(({ member }) => member))
  let first: Mismatch | null = null
  for (const settings of combinations(
    choices
      .map((choice) => ({ choice, member: memberOf(choice) }))
      .filter(({ member }) => guessed.has(member) && isTested(member, golden.cases))
      .map(({ choice }) => choice),
    manifest,
  )) {
    const candidate = settings.reduce(withSetting, manifest)
    const mismatch = await mismatchOf({ ...modelPackage, manifest: candidate }, golden, options)
    if (mismatch === null) {
      const undecided = await undecidedBy(golden, settings, { ...modelPackage, manifest: candidate }, options)
      const tested = findings.map((finding) => confirmed(finding, golden.cases, settings, undecided))
      return { manifest: withDraft(candidate, tested), findings: tested }
    }
    // The first one has the values of the draft.
    first ??= mismatch
  }
  const { problem, differenceMax } = first!
  if (differenceMax <= roundingMax && manifest.golden?.tolerance === undefined)
    return withRounding(modelPackage, golden, findings, differenceMax)
  const need: Finding = { member: 'golden', state: 'needed', value: '', source: problem }
  return { manifest, findings: [...findings, need] }
}

/** What a missing value is, if the file of the cases states it: then it is no longer in the draft. */
function stated(finding: Finding, { missing = 'imputed', draft = [] }: Manifest): Finding {
  if (finding.member !== 'missing' || finding.state !== 'guessed' || draft.includes('missing')) return finding
  return { ...finding, state: 'read', value: missing, source: 'the golden cases state it' }
}

/** The members whose other value the cases fit too: they decide nothing about these. */
async function undecidedBy(
  golden: GoldenFile,
  settings: readonly Setting[],
  fitting: ModelPackage,
  options: LoadOptions,
): Promise<ReadonlySet<string>> {
  const undecided = new Set<string>()
  for (const { choice, value } of settings)
    for (const other of choice.values.filter((each) => each !== value)) {
      const manifest = withSetting(fitting.manifest, { choice, value: other })
      if ((await mismatchOf({ ...fitting, manifest }, golden, options)) === null)
        undecided.add(memberOf(choice))
    }
  return undecided
}

/** Takes the draft as it is: its heads differ as those of a graph in half precision do, which no port need declare. */
function withRounding(
  { manifest }: ModelPackage,
  { cases }: GoldenFile,
  findings: readonly Finding[],
  differenceMax: number,
): Fit {
  const tolerance: Finding = {
    member: 'golden.tolerance',
    state: 'guessed',
    value: String(roundingMax),
    source: `the heads differ by at most ${figure(differenceMax)}, as with weights in half precision`,
  }
  const golden = { ...manifest.golden!, tolerance: roundingMax }
  const tested = findings.map((finding) => confirmed(finding, cases, []))
  const draft = [...(manifest.draft ?? []), tolerance.member]
  const all = [...tested, tolerance]
  return { manifest: withDraft({ ...manifest, golden, draft }, all), findings: all }
}

/** The list of guesses without those that are none any more. */
function withDraft({ draft = [], ...manifest }: Manifest, findings: readonly Finding[]): Manifest {
  const guessed = draft.filter((name) =>
    findings.some(({ member, state }) => member === name && state === 'guessed'),
  )
  return guessed.length === 0 ? manifest : { ...manifest, draft: guessed }
}

interface Setting {
  readonly choice: Choice
  readonly value: string | boolean
}

/** Every combination of values, that of the manifest first. */
function combinations([first, ...others]: readonly Choice[], manifest: Manifest): Setting[][] {
  if (first === undefined) return [[]]
  const members = first.encoder === undefined ? manifest : manifest[first.encoder]
  const current = (members as Readonly<Record<string, unknown>> | undefined)?.[first.name] ?? first.default
  const values = first.values.toSorted((a, b) => Number(b === current) - Number(a === current))
  return combinations(others, manifest).flatMap((rest) =>
    values.map((value) => [{ choice: first, value }, ...rest]),
  )
}

/** A value that is the default is not stated, unless the manifest states the member. */
function withSetting(manifest: Manifest, { choice, value }: Setting): Manifest {
  const { encoder, name } = choice
  const members = encoder === undefined ? manifest : manifest[encoder]
  if (members === undefined || (value === choice.default && !(name in members))) return manifest
  return encoder === undefined
    ? { ...manifest, [name]: value }
    : { ...manifest, [encoder]: { ...members, [name]: value } }
}

interface Mismatch {
  readonly problem: string
  /** NaN: the cases could not be computed. */
  readonly differenceMax: number
}

/** null: the cases pass. */
async function mismatchOf(
  modelPackage: ModelPackage,
  golden: GoldenFile,
  options: LoadOptions,
): Promise<Mismatch | null> {
  try {
    const model = await loadPackage(modelPackage, options)
    return await withRelease(
      async () => {
        const result = await runGolden(model, modelPackage, golden)
        const problem = mismatchText(golden, result, 'with every alternative of what was guessed')
        return problem === null ? null : { problem, differenceMax: result.differenceMax }
      },
      () => model.close(),
    )
  } catch (error) {
    return { problem: `the golden cases cannot be computed: ${(error as Error).message}`, differenceMax: NaN }
  }
}

/** What no case tests stays a guess. */
function confirmed(
  finding: Finding,
  cases: readonly GoldenCase[],
  settings: readonly Setting[],
  undecided: ReadonlySet<string> = new Set(),
): Finding {
  const chosen = settings.find(({ choice }) => memberOf(choice) === finding.member)?.value
  if (finding.state !== 'guessed' || !isTested(finding.member, cases)) return finding
  const value = String(chosen ?? finding.value)
  return undecided.has(finding.member)
    ? { ...finding, value, source: 'the golden cases agree, and with another value too' }
    : { ...finding, state: 'read', value, source: 'the golden cases agree' }
}

function isTested(member: string, cases: readonly GoldenCase[]): boolean {
  const records = cases.flatMap(({ record }) => record ?? [])
  const images = cases.flatMap((one) => (one.images === undefined ? [] : [one.images.length]))
  switch (member) {
    case 'kind':
    case 'text.tokens_max':
      return false
    case 'missing':
      return cases.some(({ features = {} }) => Object.values(features).includes(null))
    case 'text.template':
      return records.some(({ body_html: body }) => typeof body === 'string' && body !== '')
    case 'image.pooling':
      return images.some((count) => count > 1)
  }
  if (member.endsWith('.gallery_index')) return cases.some(({ gall_id }) => gall_id !== undefined)
  if (member.startsWith('text.')) return records.length > 0
  return !member.startsWith('image.') || images.length > 0
}
