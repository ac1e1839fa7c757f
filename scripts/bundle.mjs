// Makes one archive for machines without npm, compiler or network: build/bundle/understudy-VERSION-linux-x64.tar.gz, and
// its SHA-256 next to it. `npm run bundle` builds first. With a directory as argument the archive is made there.
// bundle-contents.mjs lists its contents. The same commit and addon give the same bytes: files are sorted,
// have the time of the commit and belong to root. It needs GNU tar, git and a C compiler.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  constants,
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createGzip } from 'node:zlib'
import {
  addonFile,
  compiledPackages,
  licenceText,
  nodePackage,
  packageFiles,
  projectFiles,
  runtimePackages,
} from './bundle-contents.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const target = { platform: process.platform, arch: process.arch, abi: process.versions.modules }

/** Standard output of a command, which must succeed. */
function output(command, args, cwd = root, env = process.env) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout
}

/** Commit and its time in seconds; `-dirty` if files of the checkout differ from the commit. */
function commitOf() {
  const commit = output('git', ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=40']).trim()
  return { commit, seconds: Number(output('git', ['log', '-1', '--format=%ct'])) }
}

/** Fills a directory with the contents of the bundle. */
function assemble(stage, commit) {
  const { name, version, description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const put = (from, to = from, mode = 0o644) => {
    const path = join(stage, to)
    mkdirSync(dirname(path), { recursive: true })
    copyFileSync(join(root, from), path, constants.COPYFILE_FICLONE)
    chmodSync(path, mode)
  }
  for (const file of projectFiles(root)) put(file)
  const packages = runtimePackages(root)
  for (const entry of packages)
    for (const file of packageFiles(root, entry, target)) put(join(entry.path, file))
  put(`node_modules/${nodePackage(target)}/bin/node`, 'bin/node', 0o755)
  const cc = process.env.CC ?? 'cc'
  const flags = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Werror', '-s']
  for (const [program, source] of [
    ['understudy', 'launcher'],
    ['flock', 'flock'],
  ])
    output(cc, [...flags, '-o', join(stage, 'bin', program), `scripts/bundle-${source}.c`])
  mkdirSync(join(stage, 'licences'))
  for (const entry of [...packages, ...compiledPackages(root, target)])
    writeFileSync(join(stage, 'licences', `${entry.name.replace('/', '-')}.txt`), licenceText(root, entry))
  const manifest = { name, version, description, license, private: true, type: 'module' }
  const made = { commit, platform: `${target.platform}-${target.arch}`, node: process.version }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify({ ...manifest, bundle: made }, null, 2)}\n`)
}

/** Runs the bundle with an empty environment, in a directory from which Node finds no other packages. */
function smokeTest(stage, version) {
  const understudy = (...args) => output(join(stage, 'bin/understudy'), args, stage, {})
  const printed = understudy('--version').trim()
  if (printed !== version) throw new Error(`the bundle has version ${printed}, expected ${version}`)
  const document = readFileSync(join(root, 'docs/openapi.json'), 'utf8')
  if (understudy('openapi') !== document)
    throw new Error("the bundle's OpenAPI document differs from docs/openapi.json")
  // A busy machine is slow: its latency says nothing about the bundle.
  for (const model of ['transport-test-1', 'example-1', 'demo-1'])
    understudy('models', 'verify', model, '--model-latency-ms-max', '60000')
  // Every module of the program, so that no package is missing; the programs themselves would start.
  const loader = `
    import { globSync } from 'node:fs'
    for (const file of globSync('dist/**/*.js'))
      if (!/^dist\\/(page\\/|cli\\/(main|program)|model\\/sessions\\/child|codec\\/worker-entry|history\\/worker\\/main)/.test(file)) await import(\`./\${file}\`)
    for (const name of ['@duckdb/node-api', 'sharp', 'uWebSockets.js']) await import(name)
    const { loadAddon } = await import('./dist/codec/native-addon.js')
    loadAddon()`
  output(join(stage, 'bin/node'), ['--input-type=module', '--eval', loader], stage, {})
}

/** Packs a directory. Resolves to size and SHA-256 of the archive. */
async function pack(stage, file, seconds) {
  const order = ['--sort=name', '--format=ustar', '--mode=u=rwX,go=rX']
  const owner = ['--owner=0', '--group=0', '--numeric-owner', `--mtime=@${seconds}`]
  const tar = spawn(
    'tar',
    ['-c', ...order, ...owner, '-C', dirname(stage), stage.slice(dirname(stage).length + 1)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, LC_ALL: 'C' },
    },
  )
  const ended = new Promise((done, failed) => tar.once('error', failed).once('close', done))
  const fresh = `${file}.${process.pid}`
  await pipeline(tar.stdout, createGzip({ level: 6 }), createWriteStream(fresh))
  const status = await ended
  if (status !== 0) throw new Error(`tar ended with exit code ${status}; it must be GNU tar`)
  renameSync(fresh, file)
  const archive = readFileSync(file)
  return { bytes: archive.length, sha256: createHash('sha256').update(archive).digest('hex') }
}

async function main() {
  if (target.platform !== 'linux') throw new Error('bundles are made on Linux, for Linux')
  if (!existsSync(join(root, addonFile)))
    throw new Error('the native codec is not built: run `node scripts/build-native.mjs`')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const name = `understudy-${version}-${target.platform}-${target.arch}`
  const directory = resolve(process.argv[2] ?? join(root, 'build/bundle'))
  mkdirSync(directory, { recursive: true })
  const { commit, seconds } = commitOf()
  // Outside the project: below it, Node would find the packages of the project.
  const work = mkdtempSync(join(tmpdir(), 'understudy-bundle-'))
  try {
    const stage = join(work, name)
    assemble(stage, commit)
    smokeTest(stage, version)
    const file = join(directory, `${name}.tar.gz`)
    const { bytes, sha256 } = await pack(stage, file, seconds)
    writeFileSync(`${file}.sha256`, `${sha256}  ${name}.tar.gz\n`)
    const unpacked = Number(output('du', ['-sb', stage]).split('\t')[0])
    const megabytes = (value) => `${Math.round(value / 1e6)} MB`
    console.log(`${file}\n${megabytes(bytes)}, unpacked ${megabytes(unpacked)}, SHA-256 ${sha256}`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

await main().catch((error) => {
  console.error(`understudy: no bundle was made: ${error.message}`)
  process.exitCode = 1
})
