/**
 * `understudy models list`: one line per package. Reads manifests and file sizes; hashes and runs nothing.
 */
import {
  activeVersion,
  headsOf,
  listModels,
  readPackage,
  shadowVersions,
  sizeText,
  type ModelPackage,
} from '../../model/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf } from '../failure.js'
import { formatTable } from '../text-table.js'
import { modelSettings, type Flags } from './common.js'

/** The JSON form. Without a valid manifest it has `version`, `role` and `problem` only. */
interface Entry {
  readonly version: string
  readonly role: 'active' | 'shadow' | null
  readonly problem: string | null
  readonly package?: ReturnType<typeof packageFacts>
}

export async function list(flags: Flags, context: CommandContext): Promise<void> {
  const { print, remark, columns } = context
  const { modelsDir } = modelSettings(flags, context)
  const versions = await listModels(modelsDir)
  const orElse = <T>(what: string, reading: Promise<T>, otherwise: T): Promise<T> =>
    reading.catch((error: unknown) => {
      remark(`understudy: ${what}: ${messageOf(error)}\n`)
      return otherwise
    })
  const active = await orElse('no model is active', activeVersion(modelsDir), null)
  const shadows = await orElse('there are no shadow models', shadowVersions(modelsDir), [])
  for (const [file, named] of [
    ['ACTIVE', active === null ? [] : [active]] as const,
    ['SHADOW', shadows] as const,
  ]) {
    const absent = named.filter((version) => !versions.includes(version))
    if (absent.length > 0)
      remark(`understudy: ${file} names ${absent.join(', ')}, but ${modelsDir} has no such package\n`)
  }
  const roleOf = (version: string): Entry['role'] =>
    version === active ? 'active' : shadows.includes(version) ? 'shadow' : null
  const entries = await Promise.all(versions.map((version) => entryOf(modelsDir, version, roleOf(version))))
  if (flags['json'] === true) {
    const objects = entries.map(({ version, role, problem, package: facts }) =>
      facts === undefined ? { version, role, problem } : { version, role, ...facts, problem },
    )
    print(`${JSON.stringify(objects, null, 2)}\n`)
    return
  }
  if (entries.length === 0) throw new CommandError(`there is no model package in ${modelsDir}`)
  const head = ['', 'version', 'kind', 'features', 'reads', 'size', 'heads']
  print(formatTable(head, entries.map(cells), { cellsMax: columns(), column: head.length - 1 }))
  const problems = entries.flatMap(({ version, problem }) =>
    problem === null ? [] : [`${version} is not valid: ${problem}\n`],
  )
  if (problems.length > 0) print(`\n${problems.join('')}`)
}

async function entryOf(modelsDir: string, version: string, role: Entry['role']): Promise<Entry> {
  try {
    return { version, role, problem: null, package: packageFacts(await readPackage(modelsDir, version)) }
  } catch (error) {
    return { version, role, problem: messageOf(error) }
  }
}

function packageFacts({ manifest, files }: ModelPackage) {
  const { kind, provenance, features, text, image } = manifest
  return {
    kind,
    provenance: provenance ?? null,
    feature_count: features.length,
    reads: [...(text === undefined ? [] : ['text']), ...(image === undefined ? [] : ['images'])],
    heads: headsOf(manifest),
    /** Of all files. */
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
  }
}

function cells({ version, role, package: facts }: Entry): string[] {
  if (facts === undefined) return [role ?? '', version, 'not valid', '', '', '', '']
  const { kind, feature_count, reads, heads, bytes } = facts
  return [
    role ?? '',
    version,
    kind,
    String(feature_count),
    reads.join(', '),
    sizeText(bytes),
    heads.join(', '),
  ]
}
