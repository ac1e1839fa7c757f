/**
 * A copy of the working tree in a temporary directory, in which mutants are applied one after the other: in the sources,
 * in `dist` for the processes that tests start, and in the addon. Packages are linked, not copied.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
import { applyEdits, editsByFile, type Mutant } from './mutant.js'

/** What tests neither read nor run. */
const excluded = [
  '.git',
  'node_modules',
  'build/bench',
  'build/bundle',
  'build/sanitizers',
  'coverage',
  'data',
]

export interface AppliedMutant {
  /** The sources that it changes. */
  readonly sources: readonly string[]
  /** Whether it changes types of which typia makes validators, in files that it does not change. */
  readonly hasTypes: boolean
  readonly restore: () => void
}

export class MutantTree {
  readonly directory = mkdtempSync(join(tmpdir(), 'understudy-mutants-'))
  readonly #root: string

  constructor(root: string) {
    this.#root = root
    const skipped = new Set(excluded.map((name) => join(root, name)))
    cpSync(root, this.directory, {
      recursive: true,
      preserveTimestamps: true,
      filter: (source) => !skipped.has(source),
    })
    symlinkSync(join(root, 'node_modules'), join(this.directory, 'node_modules'))
    this.#markAddonUpToDate()
  }

  /** Applies a mutant to the copy. */
  apply(mutant: Mutant): AppliedMutant {
    const files = editsByFile(mutant)
    const written: string[] = []
    let hasTypes = false
    for (const [file, edits] of files) {
      const mutated = applyEdits(readFileSync(join(this.#root, file), 'utf8'), edits)
      this.#write(written, file, mutated)
      // Vite bundles src/page: no output belongs to one of its files.
      const output = /^src\/(?!page\/)(.*)\.ts$/.exec(file)?.[1]
      if (output !== undefined) {
        const compiled = compile(file, mutated)
        // What typia writes is not compiled here; such files matter to no process that tests start.
        if (/\btags\b.*from 'typia'/.test(mutated)) hasTypes = true
        if (!mutated.includes("from 'typia'")) this.#write(written, `dist/${output}.js`, compiled)
      }
    }
    const isNative = [...files.keys()].some((file) => file.startsWith('src/codec/native/'))
    if (isNative) this.#buildAddon(written)
    return {
      sources: [...files.keys()],
      hasTypes,
      restore: () => {
        for (const file of written) this.#copy(file)
        if (!isNative) return
        this.#copy('build/Release')
        this.#markAddonUpToDate()
      },
    }
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }

  #write(written: string[], file: string, text: string): void {
    writeFileSync(join(this.directory, file), text)
    written.push(file)
  }

  #copy(file: string): void {
    cpSync(join(this.#root, file), join(this.directory, file), { recursive: true, preserveTimestamps: true })
  }

  /** Makes every output newer than its sources, whose times are those of a checkout. */
  #markAddonUpToDate(): void {
    spawnSync('find', [join(this.directory, 'build'), '-type', 'f', '-exec', 'touch', '{}', '+'])
  }

  #buildAddon(sources: readonly string[]): void {
    const later = Date.now() / 1000 + 5
    for (const file of sources) utimesSync(join(this.directory, file), later, later)
    const { status, stderr } = spawnSync('make', ['-s', '-C', 'build', 'BUILDTYPE=Release', '-j2'], {
      cwd: this.directory,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`the addon does not compile: ${stderr}`)
  }
}

/** JavaScript of one file. A mutant that is not valid syntax is an error of its author. */
function compile(file: string, source: string): string {
  const { outputText, diagnostics = [] } = ts.transpileModule(source, {
    fileName: file,
    reportDiagnostics: true,
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  })
  const [problem] = diagnostics
  if (problem !== undefined) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
  return outputText
}
