/**
 * The bundle of `npm run bundle`: what the archive contains, which machines it runs on, and the service out of it in a root
 * directory that contains nothing else.
 */
import { spawnSync, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import {
  missingForEmptyRoot,
  prepareRoot,
  runInNetworkOf,
  spawnInRoot,
  systemLibraries,
} from '../helpers/empty-root.js'
import { projectDir } from '../helpers/project.js'

const { version } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as { version: string }
const name = `understudy-${version}-linux-${process.arch}`
const installText = readFileSync(join(projectDir, 'docs/install.md'), 'utf8')

/** The libraries that the bundle takes from the machine, as docs/install.md lists them. */
const librariesOfTheMachine = [
  ...['libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpthread.so.0', 'libresolv.so.2'],
  ...['librt.so.1', 'libstdc++.so.6'],
]

function output(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

describe.skipIf(process.platform !== 'linux')('the bundle', () => {
  let work: string
  let archive: string
  let bundle: string
  /** Lines of `tar -tv`: mode, owner, bytes, date, time, path. */
  let entries: string[][]

  beforeAll(() => {
    work = mkdtempSync(join(tmpdir(), 'understudy-bundle-test-'))
    output(join(projectDir, 'scripts/pinned'), 'node', join(projectDir, 'scripts/bundle.mjs'), work)
    archive = join(work, `${name}.tar.gz`)
    const lines = output('tar', '-tvzf', archive, '--numeric-owner').trimEnd().split('\n')
    entries = lines.map((line) => line.split(/\s+/))
    // The commands of docs/install.md for a server, with another directory than /opt.
    const [, commands = ''] = /## systemd\n[^]*?```sh\n([^]*?)\n\n/.exec(installText) ?? []
    expect(commands).toContain(`tar -xzf ${name}.tar.gz -C /opt `)
    mkdirSync(join(work, 'opt'))
    output('sh', '-ec', `cd '${work}'; ${commands.replaceAll('/opt', `'${work}'/opt`)}`)
    expect(output(join(work, 'opt/understudy/bin/understudy'), '--version').trim()).toBe(version)
    bundle = join(work, 'opt', name)
  }, 180_000)
  afterAll(() => rmSync(work, { recursive: true, force: true }))

  /** Programs and libraries in the bundle. */
  const binaries = (): string[] =>
    readdirSync(bundle, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.node$|\.so(\.\d+)*$|^bin\//.test(file))
      .map((file) => join(bundle, file))

  test('has its SHA-256 next to it, in the format of sha256sum', () => {
    const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex')
    expect(readFileSync(`${archive}.sha256`, 'utf8')).toBe(`${sha256}  ${name}.tar.gz\n`)
  })

  test('depends on nothing but the contents of its files: order, owners, modes and times are fixed', () => {
    const paths = entries.map((entry) => (entry[5] ?? '').replace(/\/$/, ''))
    const bySegments = (path: string): string => path.replaceAll('/', '\0')
    expect(paths).toEqual(paths.toSorted((a, b) => (bySegments(a) < bySegments(b) ? -1 : 1)))
    expect(new Set(entries.map((entry) => entry[1]))).toEqual(new Set(['0/0']))
    expect(new Set(entries.map((entry) => entry[0]))).toEqual(
      new Set(['drwxr-xr-x', '-rwxr-xr-x', '-rw-r--r--']),
    )
    expect(new Set(entries.map((entry) => `${entry[3]} ${entry[4]}`)).size).toBe(1)
    // Bytes 4 to 8 of a gzip file are a time.
    expect(readFileSync(archive).readUInt32LE(4)).toBe(0)
  })

  test('contains no sources, tests, maps or build tools, and no secrets', () => {
    const files = entries.map((entry) => entry[5] ?? '').map((path) => path.slice(name.length + 1))
    const documents = /^(docs|deploy|models|licences|[A-Z]+\.md$)/
    const unwanted = files.filter(
      (file) =>
        !documents.test(file) &&
        /\.(tsx?|map|md|h|cc?|cpp|pem|key|log|mdb)$|(^|\/)(tests?|\.[^/]+)\//.test(file),
    )
    expect(unwanted).toEqual([])
    const tools =
      /^node_modules\/(typescript|vite|vitest|eslint|prettier|ts-patch|@typia\/(core|transform))\//
    expect(files.filter((file) => tools.test(file))).toEqual([])
    expect(files).toEqual(
      expect.arrayContaining([
        ...['bin/understudy', 'bin/node', 'dist/page/index.html', 'models/ACTIVE', 'deploy/nginx.conf'],
        ...['build/Release/understudy_codec.node', 'docs/install.md', 'README.md', 'CHANGELOG.md'],
      ]),
    )
  })

  test('contains the licence of every package in it, and of what is compiled into its binaries', () => {
    const licences = readdirSync(join(bundle, 'licences'))
    const packages = entries
      .map((entry) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(entry[5] ?? '')?.[1])
      .filter((found) => found !== undefined)
    expect(packages.length).toBeGreaterThan(30)
    const compiled = [
      ...[`node-linux-${process.arch}`, 'simdjson', 'node-addon-api'],
      ...['preact', 'preact-render-to-string', 'uplot'],
    ]
    for (const found of [...packages, ...compiled])
      expect(licences).toContain(`${found.replace('/', '-')}.txt`)
    const texts = licences.map((file) => readFileSync(join(bundle, 'licences', file), 'utf8'))
    // A name and a link are not a licence.
    expect(licences.filter((_, at) => (texts[at]?.length ?? 0) < 700)).toEqual([])
  })

  test('requires only the system libraries listed in docs/install.md, at the listed versions or older', ({
    skip,
  }) => {
    const libraries = systemLibraries(binaries()).map((path) => path.split('/').at(-1) ?? '')
    expect(libraries.filter((library) => !library.startsWith('ld-linux'))).toEqual(librariesOfTheMachine)
    for (const library of librariesOfTheMachine) expect(installText).toContain(`\`${library}\``)
    if (spawnSync('objdump', ['--version']).status !== 0) skip('objdump is not installed')
    const symbols = output('objdump', '-T', ...binaries())
    const latest = (prefix: string): string =>
      [...symbols.matchAll(new RegExp(`\\b${prefix}_(\\d+(?:\\.\\d+)+)`, 'g'))]
        .map(([, number]) => number ?? '')
        .reduce((a, b) => (a.localeCompare(b, 'en', { numeric: true }) < 0 ? b : a))
    const text = installText.replace(/\s+/g, ' ')
    expect(text).toContain(`glibc ${latest('GLIBC')} or later`)
    expect(text).toContain(`GLIBCXX_${latest('GLIBCXX')}`)
  })

  const missing = missingForEmptyRoot()
  if (missing !== null) console.log(`skipped: the bundle in an empty root: ${missing}`)

  test.skipIf(missing !== null)(
    'serves in a read-only root that contains nothing else, stops, and repeats the same bytes after a restart',
    async () => {
      const root = join(work, 'root')
      mkdirSync(join(root, 'opt'), { recursive: true })
      const libraries = systemLibraries(binaries())
      renameSync(bundle, join(root, 'opt/understudy'))
      prepareRoot(root, libraries)
      const key = 'key-for-the-tests-0123456789'
      let server: ChildProcess
      let log = ''

      const start = async (): Promise<void> => {
        const env = { UNDERSTUDY_DATA_DIR: '/data', UNDERSTUDY_API_KEYS: key }
        server = spawnInRoot(root, ['/opt/understudy/bin/understudy', 'serve'], env)
        log = ''
        await new Promise<void>((resolve, reject) => {
          const onOutput = (chunk: Buffer): void => {
            log += chunk.toString()
            if (log.includes('"msg":"listening"')) resolve()
          }
          for (const stream of [server.stdout, server.stderr]) stream?.on('data', onOutput)
          server.once('close', () => reject(new Error(log)))
        })
      }
      const stop = (): Promise<number | null> => {
        const ended = new Promise<number | null>((resolve) => server.once('close', resolve))
        server.kill('SIGTERM')
        return ended
      }
      /** Status and body, by a client outside of the root. */
      const call = (url: string, body = ''): { status: number; text: string } => {
        const client = `(async () => {
          const body = require('node:fs').readFileSync(0)
          const post = body.length > 0 ? { method: 'POST', body } : {}
          const response = await fetch(${JSON.stringify(url)}, { headers: { authorization: '${key}' }, ...post })
          console.log(JSON.stringify({ status: response.status, text: await response.text() }))
        })()`
        const printed = runInNetworkOf(server.pid ?? 0, [process.execPath, '--eval', client], body)
        return JSON.parse(printed) as { status: number; text: string }
      }

      const cycle = JSON.stringify(
        cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] }),
      )
      const cycles = 'http://127.0.0.1:8080/v1/cycles'
      await start()
      try {
        expect(log).toContain('"codec":"native"')
        const first = call(cycles, cycle)
        expect(first.status).toBe(200)
        expect(JSON.parse(first.text)).toMatchObject({ results: [{ post_no: 1, status: 'scored' }] })
        expect(call('http://127.0.0.1:8081/readyz').status).toBe(200)
        expect(await stop()).toBe(0)
        await start()
        expect(call(cycles, cycle)).toEqual(first)
        expect(await stop()).toBe(0)
      } finally {
        server!.kill('SIGKILL')
      }
    },
    60_000,
  )
})
