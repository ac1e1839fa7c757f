/**
 * The compiled addon: its types, and where it is loaded from. `scripts/build-native.mjs` builds it; without it the
 * service runs on the reference codec.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { ColumnProgram, RunProgram } from './column-program.js'
import type { PackColumns } from './pack.js'

/** What a decode found beside its columns. */
export interface NativeFindings {
  /** Rows of each object of the plan. */
  readonly rowCounts: readonly number[]
  /** Members of the body in their order, as positions in the plan. */
  readonly memberOrder: readonly number[]
  /** Distinct keys in order of first appearance; key columns index them. */
  readonly keys: readonly string[]
  /** Names of unknown members, object by object. */
  readonly unknownNames: readonly (readonly string[])[]
}

export interface NativeDecoder {
  /**
   * Fills the columns, whose byte offsets in `arena` are `starts`. Returns findings; or row counts when a list needs
   * more room than its capacity; or a code (`errorSentences`) when the reference decoder has to decide.
   */
  decode(
    body: Uint8Array,
    arena: ArrayBuffer,
    starts: Uint32Array,
    capacities: Uint32Array,
  ): NativeFindings | readonly number[] | number
}

/** Texts laid end to end, with 16 bytes more behind them; text i ends at `ends[i]`. */
export interface TextTable {
  readonly bytes: Uint8Array
  readonly ends: Uint32Array
}

/** Rows to write: `keys[key] number outcomes[outcome]`; for outcome 0 then its values with their labels between. */
export interface NativeRows {
  readonly count: number
  readonly key: Uint32Array
  readonly number: Float64Array
  readonly outcome: Uint8Array
  readonly keys: TextTable
  readonly outcomes: TextTable
  /** What follows each column of `values`: the label of the next, behind the last the end of the row. */
  readonly labels: TextTable
  readonly values: readonly Float32Array[]
}

export interface NativeAddon {
  readonly Decoder: new (plan: string) => NativeDecoder
  /** Runs as `RunProgram` says. Throws a TypeError for a program whose parts do not fit together. */
  readonly ColumnProgram: new (program: ColumnProgram) => { readonly run: RunProgram }
  /** Bytes that suffice for the rows; 0: numbers that native code leaves to the reference encoder. */
  rowsBytesMax(rows: NativeRows): number
  /** Writes the rows at `start` of `out` and returns where they end. */
  writeRows(rows: NativeRows, out: Uint8Array, start: number): number
  /** Throws where a column has fewer rows, or where there is no room for the widest form of all of them. */
  readonly packColumns: PackColumns
  /** Descriptor of an empty file in memory that has no name; -1 where the system has none. */
  createMemoryFile(): number
  /** Descriptor of a counter: a read of its 8 bytes waits until some were written; -1 where the system has none. */
  createEvent(): number
  /** The first `bytes` of a file that is at least that long, shared with every process that maps it. */
  mapFile(descriptor: number, bytes: number): ArrayBuffer
  /**
   * Starts `file`, without a copy of this process as fork makes one, and returns its process id; 0 where the system has
   * no such call. `args` begin with its name; `env`: `NAME=value`; its descriptor i is `descriptors[i]` of this process,
   * or for -1 /dev/null, and it inherits no other. Throws what the system says.
   */
  startProcess(
    file: string,
    args: readonly string[],
    env: readonly string[],
    descriptors: readonly number[],
  ): number
  /**
   * How a child of `startProcess` ended, once: its exit code, or minus the signal that ended it; undefined: the system
   * does not tell. null: it has not ended.
   */
  reapProcess(pid: number): number | null | undefined
  /** Descriptors of the two ends of a connection, which no process inherits; none where `startProcess` gives 0. */
  createSocketPair(): readonly number[]
  /**
   * The thread with this id (of Linux) runs only when a core has nothing else to do; with `idle` false, like the
   * calling thread. False where the system does not know or allow it.
   */
  runWhenIdle(thread: number, idle: boolean): boolean
  /**
   * Threads (by their ids of Linux) that from now on do not run on the processor of the caller: a virtual machine would
   * put them there when they are woken, and both would share it while others are idle (processors.h). Where there is one
   * processor, or the system is another one, nothing happens, and so it is for `wakeElsewhere`.
   */
  keepElsewhere(threads: Int32Array): void
  /** The same while `wake` runs, which wakes them; then they may run where they could before. Gives what it gives. */
  wakeElsewhere<Result>(threads: Int32Array, wake: () => Result): Result
  readonly errorSentences: readonly string[]
  readonly columnOperations: readonly string[]
  readonly textMeasureNames: readonly string[]
  readonly bodyPaddingBytes: number
}

/** Loads the addon; throws what Node says when it is not there or does not fit. */
export function loadAddon(): NativeAddon {
  // dist/codec and src/codec are equally far from the root, where node-gyp builds.
  const path = fileURLToPath(new URL('../../build/Release/understudy_codec.node', import.meta.url))
  return createRequire(import.meta.url)(path) as NativeAddon
}
