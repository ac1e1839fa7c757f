/**
 * `understudy models list`: one line a package. Cheap: manifests are read and files looked for, nothing more.
 */
import {
  activeVersion,
  headsOf,
  listModels,
  readPackage,
  shadowVersions,
  sizeText,
  type Manifest,
} from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf } from '../failure.js'
import { formatTable } from '../text-table.js'
import { placeFlags, type Flags } from './settings.js'

interface Entry {
  readonly version: string
  readonly role: 'active' | 'shadow' | null
  readonly manifest: Manifest | null
  /** Of all its files. */
  readonly bytes: number
  /** Why the package cannot serve, as far as its manifest tells. */
  readonly problem: string | null
}

export async function list({ modelsDir }: Settings, flags: Flags, context: CommandContext): Promise<void> {
  const { print, remark, columns } = context
  const versions = await listModels(modelsDir)
  const orNone = <T>(what: string, reading: Promise<T>, none: T): Promise<T> =>
    reading.catch((error: unknown) => {
      remark(`understudy: ${what}: ${messageOf(error)}\n`)
      return none
    })
  const active = await orNone('no model is active', activeVersion(modelsDir), null)
  const shadows = await orNone('no model is a shadow', shadowVersions(modelsDir), [])
  const tellAbsent = (file: string, named: readonly string[], command: string): void => {
    const absent = named.filter((version) => !versions.includes(version))
    if (absent.length === 0) return
    remark(
      `understudy: ${file} names ${absent.join(', ')}, which ${modelsDir} lacks: deliver the package, or run ` +
        `\`understudy models ${command}${placeFlags(flags)}\` with what is there\n`,
    )
  }
  tellAbsent('ACTIVE', active === null ? [] : [active], 'activate <version>')
  tellAbsent('SHADOW', shadows, 'shadow <versions>')
  const roleOf = (version: string): Entry['role'] =>
    version === active ? 'active' : shadows.includes(version) ? 'shadow' : null
  const entries = await Promise.all(versions.map((version) => look(modelsDir, version, roleOf(version))))
  if (flags['json'] === true) {
    print(`${JSON.stringify(entries.map(inJson), null, 2)}\n`)
    return
  }
  if (entries.length === 0) throw new CommandError(`there is no model package in ${modelsDir}`)
  const head = ['', 'version', 'kind', 'features', 'reads', 'size', 'heads']
  print(formatTable(head, entries.map(cells), { cellsMax: columns(), column: head.length - 1, how: 'wrap' }))
  const problems = entries.flatMap(({ version, problem }) =>
    problem === null ? [] : [`${version} is not sound: ${problem}\n`],
  )
  if (problems.length > 0) print(`\n${problems.join('')}`)
  remark(
    '\nManifests were read; `understudy models verify <version>` hashes the files and runs the model.\n' +
      '`active` and `shadow` are what ACTIVE and SHADOW name; /v1/health of a server says which model scores.\n',
  )
}

async function look(modelsDir: string, version: string, role: Entry['role']): Promise<Entry> {
  try {
    const { manifest, files } = await readPackage(modelsDir, version)
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    return { version, role, manifest, bytes, problem: null }
  } catch (error) {
    return { version, role, manifest: null, bytes: 0, problem: messageOf(error) }
  }
}

function cells({ version, role, manifest, bytes }: Entry): string[] {
  if (manifest === null) return [role ?? '', version, 'not sound', '', '', '', '']
  return [
    role ?? '',
    version,
    manifest.kind,
    String(manifest.features.length),
    readsOf(manifest).join(', '),
    sizeText(bytes),
    headsOf(manifest).join(', '),
  ]
}

function inJson({ version, role, manifest, bytes, problem }: Entry): object {
  if (manifest === null) return { version, role, problem }
  return {
    version,
    role,
    kind: manifest.kind,
    provenance: manifest.provenance ?? null,
    feature_count: manifest.features.length,
    reads: readsOf(manifest),
    heads: headsOf(manifest),
    bytes,
    problem,
  }
}

function readsOf({ text, image }: Manifest): string[] {
  return [...(text === undefined ? [] : ['text']), ...(image === undefined ? [] : ['images'])]
}
