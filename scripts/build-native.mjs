// Compiles the native codec (src/codec/native) into build/Release. Runs at `npm ci` and `npm install`, or by hand:
//   node scripts/build-native.mjs
// It needs g++ 11 or later (or clang 16), make and python3. At an installation a failure is only reported, because the
// service then runs on its reference codec; by hand it ends with exit code 1. An addon that is already there stays in
// place until the new one is linked. JOBS sets the number of parallel compilations.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const isInstallation = process.env.npm_lifecycle_event === 'install'

/** The headers of the pinned Node, so that node-gyp downloads nothing. Node-API is the same in every later version. */
const headers = join(root, 'node_modules', `node-${process.platform}-${process.arch}`)

const jobs = Number(process.env.JOBS) || Math.min(availableParallelism(), 4)

/** The path of node-gyp, which npm contains; null without npm. npm passes it to the scripts that it runs. */
function findNodeGyp() {
  if (process.env.npm_config_node_gyp) return process.env.npm_config_node_gyp
  const { stdout } = spawnSync('npm', ['root', '--global', '--loglevel=silent'], { encoding: 'utf8' })
  const path = join((stdout ?? '').trim(), 'npm/node_modules/node-gyp/bin/node-gyp.js')
  return stdout && existsSync(path) ? path : null
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
  const done = [readLines(child.stdout, onLine), readLines(child.stderr, onLine)]
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code) => {
      done.forEach((flush) => flush())
      if (code === 0) resolve(null)
      else {
        if (!isInstallation) console.error(lines.join('\n'))
        const words = /error|not found|no such file|could not/i
        resolve(lines.find((line) => words.test(line))?.trim() ?? `node-gyp ended with exit code ${code}`)
      }
    })
  })
}

/** Calls `onLine` for each line of a stream. Returns a function that passes on an unfinished last line. */
function readLines(stream, onLine) {
  let rest = ''
  stream.setEncoding('utf8').on('data', (text) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop()
    parts.forEach(onLine)
  })
  return () => rest === '' || onLine(rest)
}

async function main() {
  if (!existsSync(join(root, 'node_modules/simdjson/simdjson/src/simdjson.cpp')))
    return 'the package simdjson is not installed; run npm ci'
  const nodeGyp = findNodeGyp()
  if (nodeGyp === null) return 'node-gyp is not found; it is part of npm, which must be on PATH'
  return build(nodeGyp)
}

const reason = await main()
if (reason === null) console.log('understudy: the native codec is built')
else {
  console.error(
    `understudy: the native codec was not built, and the service will use the reference codec, which is slower: ${reason}`,
  )
  if (!isInstallation) process.exitCode = 1
}
