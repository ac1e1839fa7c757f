/**
 * What a mutant is: a small, realistic bug and the tests that must find it. Each file in this folder lists the mutants
 * of one folder; `run.ts` applies them one after the other.
 */

export interface Edit {
  /** Path from the root of the repository. */
  readonly file: string
  /** Text that occurs in the file exactly once. */
  readonly find: string
  readonly replace: string
}

/** Test files of the quick suite, or the simulation. */
export type KillingTests = readonly string[] | 'simulation'

/** Mutants of one file that the same tests find. */
export interface MutantGroup {
  readonly file: string
  readonly killedBy: KillingTests
  readonly mutants: readonly {
    /** The rule that the mutant breaks. */
    readonly breaks: string
    readonly find: string
    readonly replace: string
    /** Further edits of the same mutant; without a file they change the same file. */
    readonly also?: readonly (Omit<Edit, 'file'> & { readonly file?: string })[]
  }[]
}

export interface Mutant {
  readonly name: string
  readonly edits: readonly Edit[]
  readonly killedBy: KillingTests
}

export function listMutants(groups: readonly MutantGroup[]): Mutant[] {
  return groups.flatMap(({ file, killedBy, mutants }) =>
    mutants.map(({ breaks, find, replace, also = [] }) => ({
      name: `${file}: ${breaks}`,
      edits: [{ find, replace }, ...also].map((edit) => ({ file, ...edit })),
      killedBy,
    })),
  )
}

/** The source with the edits applied. Throws if a text to replace does not occur exactly once. */
export function applyEdits(source: string, edits: readonly Edit[]): string {
  return edits.reduce((text, { file, find, replace }) => {
    const count = text.split(find).length - 1
    if (count !== 1) throw new Error(`occurs ${count} times in ${file}: ${find}`)
    return text.replace(find, () => replace)
  }, source)
}

/** The edits of a mutant by file. */
export function editsByFile({ edits }: Mutant): Map<string, Edit[]> {
  const files = new Map<string, Edit[]>()
  for (const edit of edits) files.set(edit.file, [...(files.get(edit.file) ?? []), edit])
  return files
}
