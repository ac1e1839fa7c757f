/** In place of `src/base/built-file.ts` in tests: the files are built when the first of them is needed. */
import { buildOnce } from './build-once.js'

export function builtFile(name: string): URL {
  buildOnce()
  return new URL(`../../dist/${name}`, import.meta.url)
}
