// Compiles src into dist, src/page into dist/page and src/client into dist/understudy-client, unless dist was made from exactly these sources: `npm run build`, and before tests run.
// A hash of all inputs decides, not their times, so a build is correct after any edit, checkout or pull. TypeScript's own
// incremental mode is not enough: typia writes validators into files whose source has not changed.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hashFiles, isStampedWith } from './source-hash.mjs'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const target = join(root, 'dist')
const stampFile = join(target, '.sources')

/** Everything that the output depends on. */
function inputs() {
  const sources = readdirSync(join(root, 'src'), { recursive: true })
    .filter((name) => /\.(tsx?|css|html|svg)$/.test(name) && !/\.test\.tsx?$/.test(name))
    .map((name) => join('src', name))
    .sort()
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.client.json']
  const scripts = ['scripts/build.mjs', 'scripts/build-client.mjs', 'scripts/build-page.mjs']
  const clientPackage = ['README.md', 'typia.d.ts'].map((name) => join('scripts/client-package', name))
  return ['package-lock.json', ...scripts, ...clientPackage, ...settings, ...sources]
}

/** Compiles into a directory of its own and swaps it in, so that a failed build leaves the last one. */
function compile() {
  // Next to dist: source maps hold relative paths.
  const fresh = join(root, `dist-${process.pid}`)
  const old = `${fresh}-old`
  const steps = [
    ['tspc', '-p', join(root, 'tsconfig.build.json'), '--outDir', fresh],
    ['node', join(root, 'scripts', 'build-client.mjs'), join(fresh, 'understudy-client')],
    ['node', join(root, 'scripts', 'build-page.mjs'), join(fresh, 'page')],
  ]
  for (const step of steps) {
    const { status } = spawnSync(join(root, 'scripts', 'pinned'), step, { cwd: root, stdio: 'inherit' })
    if (status === 0) continue
    rmSync(fresh, { recursive: true, force: true })
    process.exit(1)
  }
  if (existsSync(target)) renameSync(target, old)
  renameSync(fresh, target)
  rmSync(old, { recursive: true, force: true })
}

const hash = hashFiles(root, inputs())
if (isStampedWith(stampFile, hash)) {
  console.log('dist is up to date')
} else {
  console.log('compiling src into dist')
  compile()
  writeFileSync(stampFile, hash)
}
