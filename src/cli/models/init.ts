/**
 * `understudy models init`: drafts the manifest of a package from its files, prints where each member comes from, takes golden
 * cases, or writes the script that computes them in the training environment.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  draftManifest,
  fitToGolden,
  goldenFileName,
  isVersion,
  manifestName,
  readManifest,
  readPackage,
  takeGolden,
  type Draft,
  type Finding,
  type Manifest,
} from '../../model/index.js'
import { isPresent, writeFileDurably } from '../../base/index.js'
import { shellWord } from '../../settings/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, messageLine, UsageError } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { fitCells, formatTable, labelledLines } from '../text/text-table.js'
import { loadOptions } from './common.js'
import { messageLog } from '../store/open-store.js'

const scriptName = 'golden_cases.py'
const scriptFile = fileURLToPath(new URL(`../../../models/${scriptName}`, import.meta.url))

export interface InitFlags extends Flags {
  readonly features?: string
  readonly golden?: string
  readonly force?: true
  readonly json?: true
}

export async function init(given: string, flags: InitFlags, context: CommandContext): Promise<void> {
  const { modelsDir } = settingsOf(flags, context)
  const directory = packageDirectory(given, modelsDir, context)
  const version = basename(directory)
  if (!isVersion(version))
    throw new UsageError(
      `the name ${JSON.stringify(version)} of the directory becomes the model_version: use letters, digits, ., _ and -`,
    )
  const file = join(directory, manifestName)
  const golden = flags.golden === undefined ? undefined : resolve(context.directory, flags.golden)
  if (isPresent(file) && flags.force !== true) {
    if (golden === undefined)
      throw new CommandError(
        `${file} exists: --force drafts it again, and --golden takes golden cases into it`,
      )
    await addGolden(directory, version, golden, flags, context)
    return
  }
  const features = flags.features === undefined ? undefined : featuresFlag(flags.features, context)
  const draft = await draftManifest({ directory, version, features, log: messageLog(context) })
  const { manifest, findings } = draft
  if (manifest === null) {
    printResult(context, flags, { ...draft, script: null }, () => draftText(draft, context))
    throw neededError(findings)
  }
  const existing = join(directory, goldenFileName)
  const cases = golden ?? (existsSync(existing) ? existing : null)
  const hasHead = !findings.some(({ member, state }) => member === 'head' && state === 'needed')
  const script = cases === null && hasHead ? join(directory, scriptName) : null
  if (script !== null) writeScript(script, context)
  writeManifest(file, manifest)
  const result =
    cases === null ? draft : { ...draft, ...(await withGolden(directory, draft, cases, flags, context)) }
  printResult(context, flags, { ...result, script }, () => draftText(result, context))
  const needed = result.findings.filter(({ state }) => state === 'needed')
  const shown = { directory: context.directory, packageDir: directory, modelsDir }
  if (flags.json !== true) {
    context.print(writtenText(shown, script))
    // Encoders without a head can be compared with the training.
    if (needed.every(({ member }) => member === 'head'))
      context.print(nextStep(shown, hasHead ? null : manifest))
  }
  if (needed.length > 0) throw neededError(result.findings)
}

/** Takes the cases, and lets them decide what was guessed. Cases that do not fit are one of the findings. */
async function withGolden(
  directory: string,
  { manifest, findings }: Draft,
  cases: string,
  flags: InitFlags,
  context: CommandContext,
): Promise<Pick<Draft, 'manifest' | 'findings'>> {
  const version = basename(directory)
  const modelsDir = dirname(directory)
  try {
    const taken = await takeGolden(directory, manifest!, cases)
    writeManifest(join(directory, manifestName), taken.manifest)
    const options = loadOptions(version, { ...settingsOf(flags, context), modelsDir }, context)
    const all = [...findings, goldenFinding(taken, cases)]
    const fit = await fitToGolden(await readPackage(modelsDir, version), all, options)
    writeManifest(join(directory, manifestName), fit.manifest)
    return fit
  } catch (error) {
    const need: Finding = { member: 'golden', state: 'needed', value: '', source: messageLine(error) }
    return { manifest, findings: [...findings, need] }
  }
}

/** A directory by its path, or by the name of a version. */
function packageDirectory(given: string, modelsDir: string, { directory }: CommandContext): string {
  const packageDir = [resolve(directory, given), resolve(modelsDir, given)].find(
    (path) => existsSync(path) && statSync(path).isDirectory(),
  )
  if (packageDir === undefined)
    throw new CommandError(`${given} is not a directory, and ${modelsDir} has none of that name`)
  return packageDir
}

function featuresFlag(given: string, { directory }: CommandContext) {
  const path = resolve(directory, given)
  return existsSync(path) ? { given: path, isFile: true } : { given, isFile: false }
}

/** Changes nothing that somebody may have corrected: the cases decide only what is still in `draft`. */
async function addGolden(
  directory: string,
  version: string,
  golden: string,
  flags: InitFlags,
  context: CommandContext,
): Promise<void> {
  const { manifest } = await readManifest(dirname(directory), version)
  const guessed = (manifest.draft ?? []).map((member): Finding => ({
    member,
    state: 'guessed',
    value: '',
    source: 'the draft',
  }))
  const drafted: Draft = { manifest, findings: guessed, unused: [] }
  const result = { ...drafted, ...(await withGolden(directory, drafted, golden, flags, context)) }
  printResult(context, flags, { ...result, script: null }, () => draftText(result, context))
  if (result.findings.some(({ state }) => state === 'needed')) throw neededError(result.findings)
}

function writeManifest(file: string, manifest: Manifest): void {
  writeFileDurably(file, `${JSON.stringify(manifest, null, 2)}\n`)
}

/** A script that somebody has edited, and whatever else has its name, is kept. */
function writeScript(file: string, { printMessage }: CommandContext): void {
  const script = readFileSync(scriptFile)
  if (!isPresent(file)) writeFileDurably(file, script)
  else if (!isCopy(file, script))
    printMessage(
      `understudy: ${file} is kept: it differs from the script of this program. Remove it to get that one.\n`,
    )
}

function isCopy(file: string, script: Buffer): boolean {
  try {
    return readFileSync(file).equals(script)
  } catch {
    return false
  }
}

function goldenFinding(
  { caseCount, tokenCount }: Awaited<ReturnType<typeof takeGolden>>,
  file: string,
): Finding {
  const tokens = tokenCount === 0 ? '' : ` and ${tokenCount} golden texts`
  return { member: 'golden', state: 'read', value: `${caseCount} cases${tokens}`, source: basename(file) }
}

const valueCellsMax = 40
const stateWords: Readonly<Record<Finding['state'], string>> = {
  read: '',
  guessed: 'guessed',
  needed: 'NEEDED',
}

function draftText({ findings, unused }: Draft, context: CommandContext): string {
  const cells = context.columns()
  const rows = findings
    .filter(({ state }) => state !== 'needed')
    .map(({ member, value, state, source }) => [
      member,
      fitCells(value, valueCellsMax),
      stateWords[state],
      source,
    ])
  const table = formatTable(['member', 'value', '', 'from'], rows, { cellsMax: cells, column: 3 })
  const needed = findings.filter(({ state }) => state === 'needed')
  const lines = [
    ...needed.map(({ member, source }) => labelledLines(`${stateWords.needed}  ${member}: `, source, cells)),
    ...unused.map((reason) => labelledLines('not used  ', reason, cells)),
  ]
  return `${table}${lines.length === 0 ? '' : `\n${lines.join('')}`}`
}

/** Directories that the next commands name. */
interface ShownDirectories {
  /** Working directory. */
  readonly directory: string
  readonly packageDir: string
  readonly modelsDir: string
}

/** `script`: where it is, if the package has no golden cases. */
function writtenText({ directory, packageDir }: ShownDirectories, script: string | null): string {
  const path = relative(directory, packageDir) || '.'
  const golden =
    script === null
      ? ''
      : `There are no golden cases. In the training environment: python3 ${shellWord(join(path, scriptName))} ROWS.csv\n` +
        `Then here: understudy models init ${shellWord(path)} --golden from-training.json\n`
  return `\n${join(path, manifestName)} written. Its member draft lists what was guessed.\n${golden}`
}

/** `encoders`: the manifest of a package without heads. */
function nextStep({ packageDir, modelsDir }: ShownDirectories, encoders: Manifest | null): string {
  const command = encoders === null ? 'verify' : 'embed'
  const inputs =
    (encoders?.text === undefined ? '' : ' --text TEXT') +
    (encoders?.image === undefined ? '' : ' --image FILE')
  const isVersionOf = resolve(modelsDir) === dirname(packageDir)
  const option = isVersionOf ? '' : ` --models-dir ${shellWord(dirname(packageDir))}`
  return `Next: understudy models ${command} ${shellWord(basename(packageDir))}${option}${inputs}\n`
}

function neededError(findings: readonly Finding[]): CommandError {
  const members = findings.filter(({ state }) => state === 'needed').map(({ member }) => member)
  return new CommandError(`the draft needs ${[...new Set(members)].join(', ')}`)
}
