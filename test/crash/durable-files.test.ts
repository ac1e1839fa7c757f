/**
 * Files that this program creates survive a power cut: strace records the order of write, fsync, rename and fsync of the
 * directory. Skipped if strace is missing or not allowed.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchDir } from '../helpers/servers.js'

const isImpossible = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status !== 0
const calls =
  'write,pwrite64,pwritev,copy_file_range,sendfile,fsync,fdatasync,rename,renameat,renameat2,mkdir'

interface Event {
  readonly kind: 'write' | 'sync' | 'rename' | 'mkdir'
  readonly path: string
  /** Of a rename. */
  readonly to: string
}

/** Runs a script with modules of `dist`, and returns what it did to files below `directory`. */
function record(directory: string, script: string, ...args: readonly string[]): Event[] {
  const log = join(scratchDir(), 'strace.log')
  const modules = [
    ...['dist/store/index.js', 'test/helpers/store-samples.ts', 'dist/cli/settings/api-keys.js'],
    'dist/client/spool.js',
  ].map((name) => new URL(`../../${name}`, import.meta.url).href)
  const source = `
    const [store, samples, keys, spools] = await Promise.all(${JSON.stringify(modules)}.map((name) => import(name)))
    const args = process.argv.slice(1)
    ${script}`
  const node = [process.execPath, '--input-type=module', '-e', source, ...args]
  const { status, stderr } = spawnSync('strace', [
    '-f',
    '-y',
    '-qq',
    '-e',
    `trace=${calls}`,
    '-o',
    log,
    ...node,
  ])
  expect(status, String(stderr)).toBe(0)
  return readFileSync(log, 'utf8')
    .split('\n')
    .map(eventOf)
    .filter((event) => event?.path.startsWith(directory) === true) as Event[]
}

function eventOf(line: string): Event | null {
  const [, name = '', rest = ''] = /^\d+ +(\w+)\((.*)$/.exec(line) ?? []
  if (name.startsWith('rename') || name === 'mkdir') {
    const [path = '', to = ''] = Array.from(rest.matchAll(/"([^"]*)"/g), ([, text]) => text)
    return { kind: name === 'mkdir' ? 'mkdir' : 'rename', path, to }
  }
  const paths = Array.from(rest.matchAll(/\d+<([^>]*)>/g), ([, text = '']) => text)
  const kind = name.endsWith('sync') ? 'sync' : 'write'
  // copy_file_range and sendfile: the target is the second descriptor of the one, the first of the other.
  const path = name === 'copy_file_range' ? paths[1] : paths[0]
  return path === undefined ? null : { kind, path, to: '' }
}

/** Expects that `partial` is written, flushed, renamed to `path`, and that the directory is flushed after that. */
function expectDurable(events: readonly Event[], partial: string, path: string): void {
  const steps = [
    events.findLastIndex((event) => event.kind === 'write' && event.path === partial),
    events.findLastIndex((event) => event.kind === 'sync' && event.path === partial),
    events.findIndex((event) => event.kind === 'rename' && event.path === partial && event.to === path),
    events.findLastIndex((event) => event.kind === 'sync' && event.path === dirname(path)),
  ]
  expect(steps, JSON.stringify(events)).not.toContain(-1)
  expect(steps).toEqual(steps.toSorted((a, b) => a - b))
}

/** Expects that the directory above each of `directories` is flushed after that directory was created. */
function expectDurableDirectories(events: readonly Event[], directories: readonly string[]): void {
  for (const directory of directories) {
    const created = events.findIndex(({ kind, path }) => kind === 'mkdir' && path === directory)
    const flushed = events.findLastIndex(({ kind, path }) => kind === 'sync' && path === dirname(directory))
    expect(created, directory).toBeGreaterThanOrEqual(0)
    expect(flushed, directory).toBeGreaterThan(created)
  }
}

/** Makes a database with one cycle in a new directory `dataDir`. */
function makeDatabase(top: string, dataDir: string): Event[] {
  const script = `
    const opened = await store.openLmdbStore({ dataDir: args[0] })
    await opened.appendCycle(samples.cycleSample(1))
    await opened.close()`
  return record(top, script, dataDir)
}

test.skipIf(isImpossible)(
  'a new database is flushed, and so is every directory that was created for it',
  () => {
    const top = scratchDir()
    const dataDir = join(top, 'made', 'data')
    const events = makeDatabase(top, dataDir)
    const synced = events.flatMap(({ kind, path }) => (kind === 'sync' ? [path] : []))
    const file = synced.indexOf(join(dataDir, 'understudy.mdb'))
    expect(file).toBeGreaterThanOrEqual(0)
    expect(synced.lastIndexOf(dataDir)).toBeGreaterThan(file)
    expectDurableDirectories(events, [dataDir, dirname(dataDir)])
  },
)

test.skipIf(isImpossible)('a backup is written, flushed and renamed, and its directories are flushed', () => {
  const top = scratchDir()
  const [dataDir, target] = [join(scratchDir(), 'data'), join(top, 'made', 'backup')]
  makeDatabase(dataDir, dataDir)
  const events = record(top, 'await store.backUp(args[0], args[1])', dataDir, target)
  expectDurable(events, join(target, 'understudy.mdb.partial'), join(target, 'understudy.mdb'))
  expectDurableDirectories(events, [target, dirname(target)])
})

test.skipIf(isImpossible)('a restored database is written, flushed and renamed', () => {
  const [copy, target] = [join(scratchDir(), 'copy'), join(scratchDir(), 'data')]
  const dataDir = join(scratchDir(), 'data')
  makeDatabase(dataDir, dataDir)
  record(copy, 'await store.backUp(args[0], args[1])', dataDir, copy)
  const events = record(target, 'await store.restore(args[0], args[1], async () => {})', copy, target)
  expectDurable(events, join(target, 'understudy.mdb.partial'), join(target, 'understudy.mdb'))
})

test.skipIf(isImpossible)('a generated API key is written, flushed and renamed', () => {
  const directory = join(scratchDir(), 'keys')
  mkdirSync(directory)
  const events = record(directory, 'keys.ensureGeneratedKey(args[0], "api-key")', directory)
  expectDurable(events, join(directory, 'api-key.partial'), join(directory, 'api-key'))
})

test.skipIf(isImpossible)('a cycle in the spool of a client is written, flushed and renamed', () => {
  const top = scratchDir()
  const directory = join(top, 'made', 'spool')
  const script = `
    const spool = await spools.Spool.open({ directory: args[0] })
    await spool.add({ cycle_id: '20260302T1205' })`
  const events = record(top, script, directory)
  const path = join(directory, '20260302T1205.json')
  expectDurable(events, `${path}.partial`, path)
  expectDurableDirectories(events, [directory, dirname(directory)])
})
