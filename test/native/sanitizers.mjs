// Runs the native unit tests and both fuzz targets under the address and undefined-behaviour sanitizers, with g++ alone:
//   node test/native/sanitizers.mjs [ROUNDS]
// ROUNDS is the number of mutated inputs of each fuzz target. Objects are kept in build/sanitizers between runs.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

const rounds = process.argv[2] ?? '20000'
const compiler = process.env.CXX ?? 'g++'
const simdjson = 'node_modules/simdjson/simdjson/src'
const nativeFolders = ['src/codec/native', 'src/model/image/native']
const build = 'build/sanitizers'
const flags = ['-std=c++17', '-O1', '-g', '-fno-omit-frame-pointer', '-fsanitize=address,undefined']
const strict = ['-fno-sanitize-recover=all', '-Wall', '-Wextra', '-Werror', '-Wno-psabi', '-ffp-contract=off']
const includes = [
  '-isystem',
  simdjson,
  ...[...nativeFolders, 'test/fuzz'].flatMap((folder) => ['-I', folder]),
]
const jobs = Number(process.env.JOBS) || availableParallelism()

const sources = nativeFolders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.cc') && name !== 'addon.cc' && !name.startsWith('js_'))
    .map((name) => join(folder, name)),
)
const programs = {
  codec_test: { sources: ['test/native/codec_test.cc'], args: [] },
  weighted_means_test: { sources: ['test/native/weighted_means_test.cc'], args: [] },
  decoder_fuzz: {
    sources: ['test/fuzz/decoder_fuzz.cc', 'test/fuzz/standalone_driver.cc'],
    args: [rounds, 'test/fuzz/corpus'],
  },
  encoder_fuzz: { sources: ['test/fuzz/encoder_fuzz.cc', 'test/fuzz/standalone_driver.cc'], args: [rounds] },
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit' })
    child.on('error', reject)
    child.on('close', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${basename(command)} ended with ${signal ?? code}`)),
    )
  })
}

const objectOf = (source) => join(build, `${basename(source).replace(/\.(cc|cpp)$/, '')}.o`)

/** Sources newer than their object, or all when a header is newer. simdjson depends on its package alone. */
function isStale(source, headersMs) {
  const object = objectOf(source)
  if (!existsSync(object)) return true
  const builtMs = statSync(object).mtimeMs
  return statSync(source).mtimeMs > builtMs || (source.endsWith('.cc') && headersMs > builtMs)
}

async function compileAll(all) {
  const headers = [...nativeFolders, 'test/fuzz'].flatMap((directory) =>
    readdirSync(directory).flatMap((name) => (name.endsWith('.h') ? [join(directory, name)] : [])),
  )
  const headersMs = Math.max(...headers.map((header) => statSync(header).mtimeMs))
  const queue = all.filter((source) => isStale(source, headersMs))
  const compileNext = async () => {
    for (let source = queue.shift(); source !== undefined; source = queue.shift()) {
      console.log(`compiling ${basename(source)}`)
      const own = source.endsWith('.cpp') ? ['-w'] : strict
      await run(compiler, [...flags, ...own, ...includes, '-c', source, '-o', objectOf(source)])
    }
  }
  await Promise.all(Array.from({ length: jobs }, compileNext))
}

mkdirSync(build, { recursive: true })
const library = [join(simdjson, 'simdjson.cpp'), ...sources]
const tests = Object.values(programs).flatMap((program) => program.sources)
await compileAll([...new Set([...library, ...tests])])
for (const [name, program] of Object.entries(programs)) {
  const path = join(build, name)
  await run(compiler, [...flags, ...[...program.sources, ...library].map(objectOf), '-o', path])
  console.log(name)
  await run(path, program.args)
}
