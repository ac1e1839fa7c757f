// Builds what does not match the sources: src in dist, src/client in dist/understudy-client, src/page in dist/page, the
// native addon in build/Release. `npm run build`, `npm ci` and tests that start programs run it; with nothing to do it takes a
// moment. `node scripts/build.mjs server` builds one part, and the addon. Hashes of all inputs decide, not times, so a build is correct after any edit, checkout or pull.
import './check-node.mjs'
import { spawn } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { addonFile, buildAddon, isAddonCurrent, isInstallation } from './build-native.mjs'
import { hashFiles, isStampedWith, withImports } from './source-hash.mjs'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const dist = join(root, 'dist')
const stamps = join(dist, '.build')

/** The parts of `dist`, the script that makes each, and the files that it depends on. */
const parts = [
  {
    name: 'server',
    directory: '.',
    inputs: () => ['tsconfig.build.json', ...sources().filter((name) => !name.startsWith('src/page/'))],
  },
  {
    name: 'client',
    directory: 'understudy-client',
    inputs: () => [
      'package.json',
      'tsconfig.client.json',
      ...['README.md', 'typia.d.ts'].map((name) => `scripts/client-package/${name}`),
      ...withImports(
        root,
        sources().filter((name) => name.startsWith('src/client/')),
      ),
    ],
  },
  {
    name: 'page',
    directory: 'page',
    inputs: () => [
      'scripts/page-config.mjs',
      ...withImports(
        root,
        sources().filter((name) => name.startsWith('src/page/')),
      ),
    ],
  },
].filter(({ name }) => process.argv.length === 2 || process.argv.includes(name))

function sources() {
  return readdirSync(join(root, 'src'), { recursive: true })
    .filter((name) => /\.(tsx?|css|html|svg)$/.test(name) && !/\.test\.tsx?$/.test(name))
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .sort()
}

/** The parts that were made from other files than these, with the hash of these. */
function staleParts() {
  return parts
    .map((part) => ({
      ...part,
      stamp: join(stamps, part.name),
      hash: hashFiles(root, [...common(part), ...part.inputs()]),
    }))
    .filter(({ stamp, hash }) => !isStampedWith(stamp, hash))
}

function common({ name }) {
  return ['package-lock.json', 'tsconfig.json', 'scripts/build.mjs', `scripts/build-${name}.mjs`]
}

/** Makes a part. One that fails leaves what was there. */
async function make({ name, directory, stamp, hash }) {
  rmSync(stamp, { force: true })
  const target = join(dist, directory)
  // The compiler of the server replaces single files; the others start with an empty directory.
  const fresh = directory === '.' ? target : join(stamps, `fresh-${name}`)
  const child = spawn(
    join(root, 'scripts/pinned'),
    ['node', join(root, `scripts/build-${name}.mjs`), fresh],
    {
      cwd: root,
      stdio: 'inherit',
    },
  )
  const status = await new Promise((resolve) => child.on('close', resolve))
  if (status !== 0) return false
  if (fresh !== target) {
    rmSync(target, { recursive: true, force: true })
    renameSync(fresh, target)
  }
  writeFileSync(stamp, hash)
  return true
}

/** One build at a time: test files that run at the same time each ask for one. */
async function withLock(action) {
  const lock = join(stamps, 'lock')
  const own = join(stamps, `lock-${process.pid}`)
  mkdirSync(stamps, { recursive: true })
  writeFileSync(own, String(process.pid))
  try {
    while (!tryLink(own, lock)) {
      if (!isAlive(lock)) rmSync(lock, { force: true })
      await setTimeout(50)
    }
  } finally {
    rmSync(own)
  }
  try {
    return await action()
  } finally {
    rmSync(lock)
  }
}

function tryLink(existing, file) {
  try {
    linkSync(existing, file)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Whether the process whose number this file contains is running. */
function isAlive(file) {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0)
    return true
  } catch {
    return false
  }
}

/** Builds what is stale; false after an error, which has been printed. */
async function build() {
  // At an installation there is none yet: it is compiled at the same time as the rest.
  const firstAddon = existsSync(addonFile) ? null : buildAddon({ isOptional: true })
  const stale = staleParts()
  if (stale.length > 0) console.log(`compiling the ${stale.map(({ name }) => name).join(', the ')}`)
  const made = await Promise.all(stale.map(make))
  await firstAddon
  if (!made.every(Boolean)) return false
  if (firstAddon === null && (stale.some(({ name }) => name === 'server') || !isAddonCurrent())) {
    // Part of the addon is generated from the contract, as dist has it.
    await import('./decode-table.mjs')
    if (!isAddonCurrent()) return buildAddon({ isOptional: isInstallation })
  }
  return true
}

const isUpToDate = () => isAddonCurrent() && staleParts().length === 0
await import('./patch-lmdb.mjs')
if (isUpToDate()) console.log('up to date')
else if (!(await withLock(build))) process.exitCode = 1
