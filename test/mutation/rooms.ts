/** The folders of src that are mutated, and the unit tests that must notice. */

export interface Room {
  /** Below src. */
  readonly name: string
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

/** Names of files and tests for the whole of a folder. */
const whole = (name: string): Room => ({
  name,
  files: [`src/${name}/**/*.ts`],
  tests: [`src/${name}/**/*.test.ts`],
})

export const rooms: readonly Room[] = [
  whole('contract'),
  whole('pool'),
  whole('records'),
  whole('client'),
  whole('cycle/intake'),
  whole('history/evaluation'),
  whole('admin'),
  // The tests of the journal need PostgreSQL, and seconds for each mutant; the others start programs, or change the user.
  {
    name: 'store',
    files: ['src/store/*.ts', 'src/store/{lmdb,records}/**/*.ts'],
    tests: ['src/store/store-*.test.ts', 'src/store/{lmdb,records}/**/!(flush-order|lmdb-lock-file).test.ts'],
  },
]
