/**
 * The threads of libuv's pool, where LMDB commits, and the processors on which they wake up.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { loadAddon, type NativeAddon } from './native-addon.js'

/** Their name, so that they can be told from those of V8. */
const poolThreadName = 'libuv-worker'

/** undefined: not looked for yet, or the pool has not begun. */
let known: Int32Array | null | undefined
let addon: Partial<NativeAddon> | null | undefined

/**
 * Calls `wake`, which gives work to the pool, and returns what it returns: whichever thread takes the work begins on
 * another processor than the caller's, which goes on meanwhile. Where nobody can see to that, it may take turns with it.
 */
export function wakePoolElsewhere<Result>(wake: () => Result): Result {
  if (addon === undefined) addon = tryToLoad()
  if (addon?.wakeElsewhere === undefined) return wake()
  if (known === undefined) known = poolThreads()
  return known === null || known === undefined ? wake() : addon.wakeElsewhere(known, wake)
}

/** The pool starts all of its threads with its first work, and never ends one. null: the system does not show them. */
function poolThreads(): Int32Array | null | undefined {
  try {
    const threads = readdirSync('/proc/self/task').filter(
      (thread) => readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim() === poolThreadName,
    )
    return threads.length === 0 ? undefined : Int32Array.from(threads, Number)
  } catch {
    return null
  }
}

function tryToLoad(): NativeAddon | null {
  try {
    return loadAddon()
  } catch {
    return null
  }
}
