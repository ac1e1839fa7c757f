/**
 * The files of a directory from which a manifest is drafted, and the configuration files of libraries beside its graphs.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isObject, mebibyte } from '../../base/index.js'
import { ModelError } from '../model.js'
import { accessFile } from '../package/read-file.js'

const depthMax = 6
const filesMax = 10_000
/** The pattern of `PackageFile` in the manifest. */
const packageFile = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/
const configBytesMax = 64 * mebibyte

export class Inventory {
  readonly directory: string
  /** Relative to the directory, with slashes, sorted; only names that a manifest may contain. */
  readonly files: readonly string[]

  private constructor(directory: string, files: readonly string[]) {
    this.directory = directory
    this.files = files
  }

  /** Rejects with a `ModelError` if the directory cannot be read. */
  static async read(directory: string): Promise<Inventory> {
    const files: string[] = []
    const visit = async (folder: string, depth: number): Promise<void> => {
      const path = join(directory, folder)
      for (const name of await accessFile(path, () => readdir(path))) {
        const file = folder === '' ? name : `${folder}/${name}`
        if (!packageFile.test(file)) continue
        const stats = await stat(join(directory, file)).catch(() => null)
        if (stats?.isFile() === true) files.push(file)
        else if (stats?.isDirectory() === true && depth < depthMax) await visit(file, depth + 1)
        if (files.length > filesMax) throw new ModelError(`${directory} has more than ${filesMax} files`)
      }
    }
    await visit('', 0)
    return new Inventory(directory, files.sort())
  }

  path(file: string): string {
    return join(this.directory, file)
  }

  ending(...extensions: readonly string[]): string[] {
    return this.files.filter((file) => extensions.some((extension) => file.endsWith(extension)))
  }

  /** A file of this name, or path, in the folder of `file` or the nearest one above it. */
  beside(file: string, name: string): string | null {
    for (let folder = dirname(file); ; folder = dirname(folder)) {
      const candidate = folder === '.' ? name : `${folder}/${name}`
      if (this.files.includes(candidate)) return candidate
      if (folder === '.') return null
    }
  }

  /** The JSON object in a file; null if there is no file, or it holds something else. */
  async json(file: string | null): Promise<Json | null> {
    const value = await this.value(file)
    return isObject(value) ? value : null
  }

  /** The JSON value in a file; null if there is no file, or it is not JSON. */
  async value(file: string | null): Promise<unknown> {
    if (file === null || (await stat(this.path(file))).size > configBytesMax) return null
    try {
      return JSON.parse(await readFile(this.path(file), 'utf8')) as unknown
    } catch {
      return null
    }
  }
}

/** A configuration file of a library: members of any type. */
export type Json = Readonly<Record<string, unknown>>

export function numberIn(json: Json | null, name: string): number | null {
  const value = json?.[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function textIn(json: Json | null, name: string): string | null {
  const value = json?.[name]
  return typeof value === 'string' && value !== '' ? value : null
}
