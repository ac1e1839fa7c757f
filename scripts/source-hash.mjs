// A hash of source files: it decides whether a build is up to date. Times of files do not, because a checkout sets them.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** SHA-256 of the names and contents of files below `root`. */
export function hashFiles(root, names) {
  const hash = createHash('sha256')
  for (const name of names)
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(root, name)))
      .update('\0')
  return hash.digest('hex')
}

/** Whether a stamp file holds this hash. */
export function isStampedWith(stampFile, hash) {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === hash
}
