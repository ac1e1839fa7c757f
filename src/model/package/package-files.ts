/**
 * The files of a package that a server has loaded: a private copy, and the differences of the package on disk since then.
 * Processes read the copy, so that one that restarts gets the bytes that passed the checks, whatever has become of the
 * package. The copy is in the data directory: memory would hold each graph once more, and /dev/shm may be absent or small.
 */
import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { codeOf, gibibyte, ignoringErrors, type Log, sizeText } from '../../base/index.js'
import { modelIdentity } from './identity.js'
import { accessFile } from './read-file.js'
import { manifestName, readManifest, type ModelPackage, type PackageFileEntry } from './read-package.js'

/** Left free on the disk: a copy must not stop the store. */
const freeBytesMin = gibibyte

export interface CopyOptions {
  readonly modelsDir: string
  /** The directory of private copies. */
  readonly copiesDir: string
  readonly log: Log
}

/** A file of the package, as it was when it was last compared. */
interface Compared {
  readonly state: string
  readonly problem: string | null
}

export class PackageFiles {
  readonly #package: ModelPackage
  readonly #modelsDir: string
  readonly #copies: ReadonlyMap<string, string>
  readonly #copyDir: string | null
  /** The last comparison by path. */
  readonly #compared = new Map<string, Compared>()
  #changed: string | null = null
  #checking: Promise<void> | null = null

  private constructor(modelPackage: ModelPackage, modelsDir: string, copyDir: string | null) {
    this.#package = modelPackage
    this.#modelsDir = modelsDir
    this.#copyDir = copyDir
    const files = scoringFiles(modelPackage)
    this.#copies = new Map(files.map(({ file }, index) => [file, copyPath(copyDir ?? '', index)]))
  }

  /** Copies the files. Rejects with a `ModelError` if one cannot be read. Without space, the processes read the package itself. */
  static async copy(modelPackage: ModelPackage, options: CopyOptions): Promise<PackageFiles> {
    const { modelsDir } = options
    const states = await Promise.all(
      pathsOf(modelPackage).map(async (path) => [path, await stateOf(path)] as const),
    )
    const copyDir = await copyFiles(modelPackage, options)
    const files = new PackageFiles(modelPackage, modelsDir, copyDir)
    for (const [path, state] of states) files.#compared.set(path, { state, problem: null })
    return files
  }

  /** The copy of a file of the package; undefined if there is none. */
  copyOf(file: string): string | undefined {
    return this.#copyDir === null ? undefined : this.#copies.get(file)
  }

  /** How the package on disk differs from what was loaded, as of the last check; null: it does not. */
  get changed(): string | null {
    return this.#changed
  }

  /** Compares the package with what was loaded. Reads only files whose time or size has changed. */
  async check(): Promise<void> {
    await (this.#checking ??= this.#checkOnce())
  }

  async remove(): Promise<void> {
    if (this.#copyDir === null) return
    await rm(this.#copyDir, { recursive: true, force: true })
    // It fails while other versions have copies.
    await rmdir(dirname(this.#copyDir)).catch(() => undefined)
  }

  async #checkOnce(): Promise<void> {
    try {
      await this.#check()
    } finally {
      this.#checking = null
    }
  }

  async #check(): Promise<void> {
    const { directory } = this.#package
    const manifest = join(directory, manifestName)
    const problems = [await this.#compare(manifest, () => this.#manifestProblem())]
    for (const file of scoringFiles(this.#package))
      problems.push(await this.#compare(file.path, () => hashProblem(file)))
    const differences = problems.filter((problem) => problem !== null)
    this.#changed = differences.length === 0 ? null : differences.join('; ')
  }

  /** Compares again if the state of the file is another one than the last time. */
  async #compare(path: string, problemOf: () => Promise<string | null>): Promise<string | null> {
    const state = await stateOf(path)
    const last = this.#compared.get(path)
    if (last?.state === state) return last.problem
    const problem = await problemOf().catch((error: unknown) => (error as Error).message)
    this.#compared.set(path, { state, problem })
    return problem
  }

  async #manifestProblem(): Promise<string | null> {
    const { manifest } = this.#package
    const { manifest: onDisk, manifestFile } = await readManifest(this.#modelsDir, manifest.model_version)
    return modelIdentity(onDisk) === modelIdentity(manifest)
      ? null
      : `${manifestFile} describes another model`
  }
}

/** Copies of servers that have ended: one server uses a data directory. What cannot be removed keeps no model from serving. */
export async function removeCopies(copiesDir: string, log: Log): Promise<void> {
  try {
    await rm(copiesDir, { recursive: true, force: true })
  } catch (err) {
    log.warn({ err }, 'old copies of model files cannot be removed')
  }
}

async function copyFiles(
  modelPackage: ModelPackage,
  { copiesDir, log }: CopyOptions,
): Promise<string | null> {
  const files = scoringFiles(modelPackage)
  const version = modelPackage.manifest.model_version
  const withoutCopy = (problem: string): null => {
    log.warn(
      { model_version: version, problem },
      'model files were not copied: if they change on disk, a process that restarts cannot load them',
    )
    return null
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  let copyDir: string | null = null
  try {
    await mkdir(copiesDir, { recursive: true, mode: 0o700 })
    const { bavail, bsize } = await statfs(copiesDir)
    if (bavail * bsize - bytes < freeBytesMin) return withoutCopy(`there is no space for ${sizeText(bytes)}`)
    copyDir = await mkdtemp(join(copiesDir, `${version}-`))
    for (const [index, { path }] of files.entries())
      // The copy shares the blocks of the file until one of them changes, on a file system that can.
      await copyFile(path, copyPath(copyDir, index), constants.COPYFILE_FICLONE)
    return copyDir
  } catch (error) {
    const partial = copyDir
    if (partial !== null) await ignoringErrors(() => rm(partial, { recursive: true, force: true }))
    // An error of the package is one of the load.
    for (const { path } of files) await accessFile(path, () => stat(path))
    return withoutCopy((error as Error).message)
  }
}

function copyPath(copyDir: string, index: number): string {
  return join(copyDir, String(index))
}

/** The files that affect a score: all but golden cases. */
function scoringFiles({ files }: ModelPackage): readonly PackageFileEntry[] {
  return files.filter(({ member }) => member !== 'golden')
}

function pathsOf(modelPackage: ModelPackage): string[] {
  return [join(modelPackage.directory, manifestName), ...scoringFiles(modelPackage).map(({ path }) => path)]
}

/** Changes when a file is written, replaced or removed. */
async function stateOf(path: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(path, { bigint: true })
    return `${mtimeNs} ${size} ${ino}`
  } catch (error) {
    return codeOf(error) || 'unreadable'
  }
}

/** Reads in parts: a graph may be large. */
async function hashProblem({ path, sha256 }: PackageFileEntry): Promise<string | null> {
  const hash = createHash('sha256')
  await accessFile(path, () => pipeline(createReadStream(path), hash))
  const actual = hash.digest('hex')
  return actual === sha256 ? null : `${path} has SHA-256 ${actual}; the server has loaded ${sha256}`
}
