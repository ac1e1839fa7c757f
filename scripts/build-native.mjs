// Compiles the addon (mostly the native codec, src/codec/native) into build/Release. `scripts/build.mjs` calls it when the addon is
// missing or was built from other sources; by hand, this always compiles it:
//   node scripts/build-native.mjs
// It needs g++ 11 or later (or clang 16), make and python3. An addon that is already there stays in place until the new one
// is linked. JOBS sets the number of parallel compilations.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { hashFiles, isStampedWith } from './source-hash.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
export const isInstallation = process.env.npm_lifecycle_event === 'install'
export const addonFile = join(root, 'build/Release/understudy_codec.node')
const stampFile = join(root, 'build/Release/.sources')

/** The headers of the pinned Node, so that node-gyp downloads nothing. Node-API is the same in every later version. */
const headers = join(root, 'node_modules', `node-${process.platform}-${process.arch}`)

const jobs = Number(process.env.JOBS) || Math.min(availableParallelism(), 4)

/**
 * The path of node-gyp, which npm contains; null without npm. npm passes it to the scripts that it runs, `npm run env`
 * included. It cannot be derived from npm's global folder, which a user may have moved.
 */
function findNodeGyp() {
  if (process.env.npm_config_node_gyp) return process.env.npm_config_node_gyp
  const { stdout } = spawnSync('npm', ['run', '--silent', 'env'], { cwd: root, encoding: 'utf8' })
  return /^npm_config_node_gyp=(.+)$/m.exec(stdout ?? '')?.[1] ?? null
}

/** Builds the addon and prints each file as it is compiled. Resolves to null, or to the reason of a failure. */
function build(nodeGyp) {
  const fileCount = readFileSync(join(root, 'binding.gyp'), 'utf8').match(/\.(?:cc|cpp)",/g).length
  console.log(`understudy: compiling the native codec, ${fileCount} files at most, ${jobs} at a time`)
  const nodedir = existsSync(join(headers, 'include/node/node_api.h')) ? [`--nodedir=${headers}`] : []
  // `rebuild` would empty build/, which contains other files too.
  const args = [nodeGyp, 'configure', 'build', '--silent', `--jobs=${jobs}`, ...nodedir]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const lines = []
  const onLine = (line) => {
    lines.push(line)
    const [, step, file] = /^\s*(CXX|SOLINK_MODULE)\(target\) (\S+)/.exec(line) ?? []
    if (step === 'CXX') console.log(`  compiling ${basename(file, '.o')}`)
    if (step === 'SOLINK_MODULE') console.log('  linking understudy_codec.node')
  }
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', onLine)
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code) => {
      if (code === 0) resolve(null)
      else {
        if (!isInstallation) console.error(lines.join('\n'))
        const words = /error|not found|no such file|could not/i
        resolve(lines.find((line) => words.test(line))?.trim() ?? `node-gyp ended with exit code ${code}`)
      }
    })
  })
}

/** The files of this project that the addon depends on. Packages change with `npm ci`, which always builds. */
function inputs() {
  const sources = ['src/base/native', 'src/codec/native', 'src/model/image/native'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => /\.(cc|h)$/.test(name))
      .sort()
      .map((name) => join(folder, name)),
  )
  return ['binding.gyp', ...sources]
}

/** Whether the addon is there and was built from these sources. */
export function isAddonCurrent() {
  return existsSync(addonFile) && isStampedWith(stampFile, hashFiles(root, inputs()))
}

/**
 * Builds the addon and reports the result. Resolves to false if that failed; with `isOptional` to true, because the service then runs
 * on its reference codec.
 */
export async function buildAddon({ isOptional }) {
  const hash = hashFiles(root, inputs())
  const reason = await tryBuild()
  if (reason === null) {
    writeFileSync(stampFile, hash)
    console.log('understudy: the native codec is built')
    return true
  }
  const consequence = existsSync(addonFile)
    ? 'the one built from earlier sources stays in place; delete build/Release to use the reference codec'
    : 'the service will use the reference codec, which is slower'
  console.error(`understudy: the native codec was not built: ${reason}\nunderstudy: ${consequence}`)
  return isOptional
}

async function tryBuild() {
  if (!existsSync(join(root, 'node_modules/simdjson/simdjson/src/simdjson.cpp')))
    return 'the package simdjson is not installed; run npm ci'
  const nodeGyp = findNodeGyp()
  if (nodeGyp === null) return 'node-gyp is not found; it is part of npm, which must be on PATH'
  return build(nodeGyp)
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !(await buildAddon({ isOptional: false })))
  process.exitCode = 1
