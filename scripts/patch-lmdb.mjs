/**
 * Patches the prebuilt binaries of lmdb-js 3.5.6 on Linux. After a failed write to the disk (mdb.c, mdb_page_flush) they
 * format an error text of up to 126 bytes into a buffer of 100: the heap is overwritten and the process aborts. This script
 * replaces the format string with a shorter one that fits. It is idempotent, and never fails: without the patch only a
 * failing disk may end the process. macOS refuses changed binaries, so they stay as they are there.
 *
 * Nothing else prevents it: 3.5.6 is the newest release and the line is in it; every commit goes through it, except with
 * `useWritemap`, where a full disk ends the process with SIGBUS; and the addon cannot replace `sprintf` of a library that
 * is loaded already. Delete this script when a release has `snprintf` there. test/crash/disk.test.ts needs it.
 */
import { Buffer } from 'node:buffer'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const unbounded = 'Attempting to write page at position %u, size %u, blocks %u, buffer sizes %i %i %i'
/** At most 65 bytes with its three numbers of at most 10 digits. */
const bounded = 'Writing pages failed: position %u, size %u, blocks %u'

const packages = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules/@lmdb')
const replacement = Buffer.alloc(unbounded.length)
replacement.write(bounded)

if (process.platform === 'linux' && existsSync(packages)) {
  for (const name of readdirSync(packages, { recursive: true }).filter((file) => file.endsWith('.node'))) {
    const file = join(packages, name)
    try {
      const binary = readFileSync(file)
      const at = binary.indexOf(unbounded)
      if (at >= 0) {
        replacement.copy(binary, at)
        // A new file: a running server may have mapped the old one.
        const fresh = `${file}.${process.pid}`
        writeFileSync(fresh, binary)
        chmodSync(fresh, statSync(file).mode)
        renameSync(fresh, file)
      } else if (!binary.includes(bounded)) {
        console.warn(`${name}: the error text to patch is not there; see scripts/patch-lmdb.mjs`)
      }
    } catch (error) {
      console.warn(`${name} was not patched: a failing disk may end the server (${error.message})`)
    }
  }
}
