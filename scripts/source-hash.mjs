// Hashes of source files: they decide whether a build is up to date. Times of files do not, because a checkout sets them.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

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

/** These TypeScript files below `root` and all that they import, directly or not, in order of their names. */
export function withImports(root, names) {
  const found = new Set(names)
  for (const name of found)
    for (const [, path] of readFileSync(join(root, name), 'utf8').matchAll(relativeImport)) {
      const file = posix.join(posix.dirname(name), path)
      const source = [file, file.replace(/\.js$/, '.ts'), file.replace(/\.js$/, '.tsx')].find(
        (candidate) => /\.tsx?$/.test(candidate) && existsSync(join(root, candidate)),
      )
      if (source !== undefined) found.add(source)
    }
  return [...found].sort()
}

/** After `from` or `import`, of values and of types, static or not. */
const relativeImport = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]*)['"]/g
