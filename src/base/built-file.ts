/**
 * Where compiled files are. Threads and child processes start from them, also when a test runs the sources: nothing strips
 * types there. The tests replace this module by one that builds first (test/helpers/built-file.ts).
 */

/** The compiled file of this name; `src/base` and `dist/base` are equally far from it. */
export function builtFile(name: string): URL {
  return new URL(`../../dist/${name}`, import.meta.url)
}
