/**
 * `understudy models init`: drafts the manifest of a package from its files, prints where each member comes from, takes golden
 * cases, or writes the script that computes them in the training environment.
 */
import { existsSync, statSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
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
import { printResult, type CommandContext } from '../context.js'
import { CommandError, messageLine, UsageError } from '../failure.js'
import { settingsOf, type Flags } from '../read-settings.js'
import { fitCells, formatTable, labelledLines } from '../text-table.js'
import { loadOptions, messageLog } from './common.js'

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
  if (existsSync(file) && flags.force !== true) {
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
  if (script !== null) await copyFile(scriptFile, script)
  await writeManifest(file, manifest)
  const result =
    cases === null ? draft : { ...draft, ...(await withGolden(directory, draft, cases, flags, context)) }
  printResult(context, flags, { ...result, script }, () => draftText(result, context))
  if (flags.json !== true)
    context.print(nextSteps(directory, modelsDir, { script, encoders: hasHead ? null : manifest }))
  if (result.findings.some(({ state }) => state === 'needed')) throw neededError(result.findings)
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
    await writeManifest(join(directory, manifestName), taken.manifest)
    const options = loadOptions(version, { ...settingsOf(flags, context), modelsDir }, context)
    const all = [...findings, goldenFinding(taken, cases)]
    const fit = await fitToGolden(await readPackage(modelsDir, version), all, options)
    await writeManifest(join(directory, manifestName), fit.manifest)
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

async function writeManifest(file: string, manifest: Manifest): Promise<void> {
  await writeFile(file, `${JSON.stringify(manifest, null, 2)}\n`)
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

function nextSteps(
  directory: string,
  modelsDir: string,
  { script, encoders }: { readonly script: string | null; readonly encoders: Manifest | null },
): string {
  const version = basename(directory)
  const isVersionOf = resolve(modelsDir) === dirname(directory)
  const command = encoders === null ? 'verify' : 'embed'
  const inputs =
    (encoders?.text === undefined ? '' : ' --text TEXT') +
    (encoders?.image === undefined ? '' : ' --image FILE')
  const option = isVersionOf ? '' : ` --models-dir ${dirname(directory)}`
  const next = `understudy models ${command} ${version}${option}${inputs}`
  const path = relative(process.cwd(), directory) || '.'
  const golden =
    script === null
      ? ''
      : `There are no golden cases. In the training environment: python3 ${join(path, scriptName)} ROWS.csv\n` +
        `Then here: understudy models init ${path} --golden from-training.json\n`
  return `\n${join(path, manifestName)} written. Its member draft lists what was guessed.\n${golden}Next: ${next}\n`
}

function neededError(findings: readonly Finding[]): CommandError {
  const members = findings.filter(({ state }) => state === 'needed').map(({ member }) => member)
  return new CommandError(`the draft needs ${[...new Set(members)].join(', ')}`)
}
