/** Backup, restore and verification: real processes on real directories. */
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, afterAll, describe, expect, test } from 'vitest'
import type { CycleRequest } from '../../src/contract/index.js'
import { databasePath, openLmdbStore } from '../../src/store/index.js'
import { pageBytes } from '../../src/store/lmdb/environment.js'
import { cycleSample } from '../helpers/store-samples.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { executable, ServerProcess } from '../harness/server.js'
import { smallJpeg } from '../harness/jpeg.js'
import { scratchDir } from '../helpers/servers.js'

const cycleCount = 40
const bodyOf = (index: number): CycleRequest =>
  cycleBody(index, {
    candidates: [candidate('g', index + 1)],
    engagement: [reading('g', index + 1, cycleMs(index)), reading('g', 777, cycleMs(index))],
    removals: index >= 3 ? [removal('g', index - 2)] : [],
  })

function understudy(...args: string[]): SpawnSyncReturns<string> {
  return understudyWith({}, ...args)
}

/** With more in its environment. */
function understudyWith(env: NodeJS.ProcessEnv, ...args: string[]): SpawnSyncReturns<string> {
  // A process that never ends must not prevent the others from being stopped.
  return spawnSync(executable, args, {
    encoding: 'utf8',
    cwd: '/',
    env: { ...process.env, ...env },
    timeout: 300_000,
    killSignal: 'SIGKILL',
  })
}

/** The same without blocking the server's client meanwhile. */
function understudyInBackground(...args: string[]): Promise<number | null> {
  return new Promise((resolve) => spawn(executable, args, { stdio: 'ignore' }).on('exit', resolve))
}

/** Environment of a process that begins with `source`, which may change `promises` of node:fs for all of it. */
function beginningWith(source: string): NodeJS.ProcessEnv {
  const script = `
    import fs, { promises } from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    ${source}
    syncBuiltinESMExports()`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` }
}

/** Killed, as by the kernel, before it writes its lock file. */
const killedCreatingLockFile = beginningWith(
  `const { openSync } = fs
  fs.openSync = (path, flags, mode) => {
    const file = openSync(path, flags, mode)
    if (flags === 'wx' && String(path).endsWith('.mdb.partial-lock')) process.kill(process.pid, 'SIGKILL')
    return file
  }`,
)

let server: ServerProcess
/** Stored responses by index of the cycle. */
const responses: string[] = []

beforeAll(async () => {
  server = await new ServerProcess().start()
  for (let index = 0; index < 10; index++) responses.push((await server.postCycle(bodyOf(index))).text)
  const put = { method: 'PUT', path: '/v1/images/g/1/01', headers: { 'Content-Type': 'image/jpeg' } }
  expect((await server.call({ ...put, body: await smallJpeg(1) })).status).toBe(201)
})
afterAll(() => server.dispose())

describe('a backup', () => {
  test('taken under load restores to a directory that passes verify and returns the same bytes', async () => {
    const [copy, target] = [join(scratchDir(), 'copy'), join(scratchDir(), 'data')]
    let index = 10
    const [code] = await Promise.all([
      understudyInBackground('backup', copy, '--data-dir', server.dataDir),
      (async () => {
        for (; index < cycleCount; index++) responses.push((await server.postCycle(bodyOf(index))).text)
      })(),
    ])
    expect(code).toBe(0)
    const restored = understudy('restore', copy, '--data-dir', target)
    expect(restored.stderr).toBe('')
    expect(restored.status).toBe(0)
    expect(restored.stdout).toMatch(
      /, verified\. A backup has no API keys: .* the file api-key is copied\.\n$/,
    )
    expect(statSync(target).mode & 0o777).toBe(0o700)
    expect(statSync(join(target, 'understudy.mdb')).mode & 0o777).toBe(0o600)
    expect(readdirSync(target)).toEqual(['understudy.mdb'])
    const verified = understudy('verify', '--json', '--data-dir', target)
    expect(verified.status).toBe(0)
    const { counts } = JSON.parse(verified.stdout) as { counts: { cycles: number; images: number } }
    expect(counts.cycles).toBeGreaterThanOrEqual(10)
    expect(counts.images).toBe(1)
    const again = await new ServerProcess({}, { dataDir: target }).start()
    try {
      for (let at = 0; at < counts.cycles; at++) {
        const path = `/v1/scores/${bodyOf(at).cycle_id}`
        expect((await again.call({ path })).text).toBe(responses[at])
        expect((await again.postCycle(bodyOf(at))).text).toBe(responses[at])
      }
      // The restored server continues from there.
      for (let at = counts.cycles; at < cycleCount; at++)
        expect((await again.postCycle(bodyOf(at))).status).toBe(200)
    } finally {
      await again.dispose()
    }
    expect(understudy('verify', '--data-dir', server.dataDir).status).toBe(0)
  })

  test('is not verified, and its output states this: damaged records are copied without an error', () => {
    const [source, copy] = [join(scratchDir(), 'source'), join(scratchDir(), 'copy')]
    expect(understudy('backup', source, '--data-dir', server.dataDir).status).toBe(0)
    flipIn(join(source, 'understudy.mdb'), '"results"')
    const made = understudy('backup', copy, '--data-dir', source)
    expect(made.status).toBe(0)
    const [, command] = /To verify it, run `understudy (.*)`\.\n$/.exec(made.stdout) ?? []
    expect(understudy(...(command ?? '').split(' ')).stdout).toContain('is damaged')
  })

  test('requires an empty target directory, and so does a restore', () => {
    const occupied = scratchDir()
    writeFileSync(join(occupied, 'mine'), '')
    const refused = understudy('backup', occupied, '--data-dir', server.dataDir)
    expect(refused.status).toBe(1)
    expect(refused.stderr).toContain('is not empty: mine is in it')
    const copy = join(scratchDir(), 'copy')
    expect(understudy('backup', copy, '--data-dir', server.dataDir).status).toBe(0)
    const over = understudy('restore', copy, '--data-dir', occupied)
    expect(over.status).toBe(1)
    expect(over.stderr).toContain('is not empty')
    // The lock of the server, before anything else.
    expect(understudy('restore', copy, '--data-dir', server.dataDir).stderr).toContain('in use by process')
    expect(readdirSync(occupied)).toEqual(['mine'])
  })

  test.skipIf(process.getuid?.() !== 0)(
    'that root restores belongs to the owner of the directory (needs root)',
    () => {
      const [copy, target] = [join(scratchDir(), 'copy'), scratchDir()]
      chownSync(target, 65533, 65534)
      expect(understudy('backup', copy, '--data-dir', server.dataDir).status).toBe(0)
      expect(understudy('restore', copy, '--data-dir', target).status).toBe(0)
      // A command that root runs leaves it to its owner too.
      expect(understudy('verify', '--data-dir', target).status).toBe(0)
      for (const name of ['understudy.mdb', 'understudy.mdb-lock']) {
        const { mode, uid, gid } = statSync(join(target, name))
        expect([mode & 0o777, uid, gid]).toEqual([0o600, 65533, 65534])
      }
    },
  )

  test.skipIf(!droppable())(
    'that root may not give away is kept and reported; one with the right owner is not reported (needs root)',
    () => {
      const withoutChown = (...args: string[]): SpawnSyncReturns<string> =>
        spawnSync('setpriv', ['--bounding-set=-chown', executable, ...args], { encoding: 'utf8', cwd: '/' })
      const [copy, target, own] = [join(scratchDir(), 'copy'), scratchDir(), scratchDir()]
      chownSync(target, 65533, 65534)
      expect(understudy('backup', copy, '--data-dir', server.dataDir).status).toBe(0)
      expect(withoutChown('restore', copy, '--data-dir', own)).toMatchObject({ status: 0, stderr: '' })
      const restored = withoutChown('restore', copy, '--data-dir', target)
      expect(restored.stderr).toBe(
        `${join(target, 'understudy.mdb')} belongs to user 0 and group 0; this process may not give it to the owner ` +
          `of the directory, user 65533 and group 65534\n`,
      )
      expect(restored.status).toBe(0)
      chownSync(join(target, 'understudy.mdb'), 65533, 65534)
      expect(withoutChown('verify', '--data-dir', target).status).toBe(0)
      expect(readdirSync(target).sort()).toEqual(['understudy.mdb', 'understudy.mdb-lock'])
      // This project allocates its blocks; a lock file of LMDB has none.
      const { blocks, size } = statSync(join(target, 'understudy.mdb-lock'))
      expect(blocks * 512).toBeGreaterThanOrEqual(size)
    },
  )

  test('that is truncated, foreign, missing or damaged is not restored, and the error names the reason', () => {
    const copy = join(scratchDir(), 'copy')
    expect(understudy('backup', copy, '--data-dir', server.dataDir).status).toBe(0)
    const refuse = (change: (file: string) => void): string => {
      const dir = scratchDir()
      const file = join(dir, 'understudy.mdb')
      copyFileSync(join(copy, 'understudy.mdb'), file)
      change(file)
      const target = join(scratchDir(), 'data')
      const result = understudy('restore', dir, '--data-dir', target)
      expect(result.status).toBe(1)
      expect(existsSync(target)).toBe(false)
      return result.stderr
    }
    expect(refuse((file) => truncateSync(file, statSync(file).size - pageBytes))).toContain('is truncated')
    expect(refuse((file) => writeFileSync(file, 'x'.repeat(50_000)))).toContain(
      'is not a database of this program',
    )
    expect(refuse((file) => flipIn(file, '"cycle_id"'))).toContain('is damaged')
    const empty = understudy('restore', scratchDir(), '--data-dir', join(scratchDir(), 'data'))
    expect(empty.stderr).toContain('there is no database')
  })
})

describe('a process killed while it creates its lock file', () => {
  test('leaves a directory that the next backup and the next restore treat as empty', () => {
    const [copy, target] = [scratchDir(), join(scratchDir(), 'data')]
    const backup = ['backup', copy, '--data-dir', server.dataDir]
    expect(understudyWith(killedCreatingLockFile, ...backup).signal).toBe('SIGKILL')
    const left = 'understudy.mdb.partial-lock'
    expect(readdirSync(copy)).toContain(left)
    expect(understudy(...backup)).toMatchObject({ status: 0, stderr: '' })
    expect(readdirSync(copy)).toEqual(['understudy.mdb'])
    mkdirSync(target)
    writeFileSync(join(target, left), '')
    expect(understudy('restore', copy, '--data-dir', target)).toMatchObject({ status: 0, stderr: '' })
    expect(readdirSync(target)).toEqual(['understudy.mdb'])
  })
})

describe('a backup that fails', () => {
  test('names the source directory when LMDB reports an error there', async () => {
    const [source, copy] = [join(scratchDir(), 'source'), join(scratchDir(), 'copy')]
    const store = await openLmdbStore({ dataDir: source })
    for (let number = 1; number <= 5; number++) await store.appendCycle(cycleSample(number))
    await store.close()
    const file = databasePath(source)
    const bytes = readFileSync(file)
    // The tree of free pages of both states (src/store/lmdb/page-layout.ts): no tree uses its pages then.
    for (const tree of [48, pageBytes + 48])
      bytes.fill(0, tree + 6, tree + 40).fill(255, tree + 40, tree + 48)
    writeFileSync(file, bytes)
    const refused = understudy('backup', copy, '--data-dir', source)
    expect(refused.stderr).toMatch(/^understudy: .*\n$/)
    expect(refused.stderr).toContain(`${file} cannot be copied: MDB_INCOMPATIBLE`)
    expect(existsSync(copy)).toBe(false)
  })

  test('names a target that is not a directory', () => {
    const target = join(scratchDir(), 'file')
    writeFileSync(target, '')
    const refused = understudy('backup', target, '--data-dir', server.dataDir)
    expect(refused.stderr).toBe(`understudy: ${target} is not a directory\n`)
    expect(refused.status).toBe(1)
    const below = understudy('backup', join(target, 'made', 'copy'), '--data-dir', server.dataDir)
    expect(below.stderr).toBe(
      `understudy: ${join(target, 'made', 'copy')} cannot be created: ${target} is not a directory\n`,
    )
    const link = join(scratchDir(), 'link')
    symlinkSync(join(scratchDir(), 'nothing'), link)
    const dangling = understudy('backup', link, '--data-dir', server.dataDir)
    expect(dangling.stderr).toBe(`understudy: ${link} is a link to nothing\n`)
  })

  test.runIf(process.platform === 'linux')('fails if the file system cannot create directories', () => {
    const refused = understudy('backup', '/proc/nope/copy', '--data-dir', server.dataDir)
    expect(refused.stderr).toMatch(/^understudy: \/proc\/nope\/copy cannot be created: ENOENT: .*\n$/)
    expect(refused.status).toBe(1)
  })

  test('does not follow links out of the data directory; neither do verify and restore', () => {
    const [dir, victim] = [scratchDir(), join(scratchDir(), 'victim')]
    const [dataDir, copy] = [join(dir, 'data'), join(dir, 'copy')]
    expect(understudy('backup', copy, '--data-dir', server.dataDir).status).toBe(0)
    const file = join(dataDir, 'understudy.mdb')
    const linked = (path: string, ...command: string[]): void => {
      rmSync(dataDir, { recursive: true, force: true })
      mkdirSync(dataDir)
      if (!command.includes('restore')) copyFileSync(join(copy, 'understudy.mdb'), file)
      writeFileSync(victim, 'mine')
      rmSync(path, { force: true })
      symlinkSync(victim, path)
      // Root must not trust files that belong to a service account.
      if (process.getuid?.() === 0) for (const owned of [dataDir, file]) chownIfThere(owned)
      const refused = understudy(...command)
      expect([refused.status, refused.stdout + refused.stderr]).toEqual([
        1,
        expect.stringMatching(/not a regular file|is not empty|symbolic links/) as string,
      ])
      expect(readFileSync(victim, 'utf8')).toBe('mine')
    }
    for (const path of [file, `${file}-lock`]) {
      linked(path, 'backup', join(dir, 'other'), '--data-dir', dataDir)
      linked(path, 'verify', '--data-dir', dataDir)
    }
    for (const path of [file, join(dataDir, 'understudy.lock')])
      linked(path, 'restore', copy, '--data-dir', dataDir)
  })

  test('removes the files that it created', () => {
    const top = scratchDir()
    const none = join(top, 'none')
    const refused = understudy('backup', join(top, 'made', 'copy'), '--data-dir', none)
    expect(refused.stderr).toContain(`there is no database ${none}`)
    expect(readdirSync(top)).toEqual([])
  })

  test.runIf(process.platform === 'linux')(
    'leaves a directory that it made to another process that has locked it meanwhile',
    () => {
      const target = join(scratchDir(), 'copy')
      const locking = beginningWith(`
      import { lockDirectory } from '${new URL('../../dist/store/index.js', import.meta.url).href}'
      const { rmdir } = promises
      promises.rmdir = async (path) => {
        console.log(await lockDirectory(path).then(() => 'free', ({ message }) => message))
        return rmdir(path)
      }`)
      const refused = understudyWith(locking, 'backup', target, '--data-dir', join(target, 'none'))
      expect(refused.stdout).toBe('free\n')
      expect(refused.status).toBe(1)
      expect(readdirSync(target)).toEqual(['understudy.lock'])
    },
  )
})

describe('verify', () => {
  test('without permission does not report damage', () => {
    const dir = scratchDir()
    writeFileSync(databasePath(dir), '')
    chmodSync(databasePath(dir), 0)
    const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
    const options = { ...user, encoding: 'utf8', env: { ...process.env, HOME: dir } } as const
    const refused = spawnSync(executable, ['verify', '--data-dir', dir], options)
    expect(refused.stderr).toBe(
      `understudy: ${databasePath(dir)} was not verified: permission denied; ` +
        'run this as the owner of the data directory or as root\n',
    )
    expect({ status: refused.status, stdout: refused.stdout }).toEqual({ status: 1, stdout: '' })
  })

  test('reports a file with missing pages and a file that is not a database', () => {
    const copy = join(scratchDir(), 'copy')
    expect(understudy('backup', copy, '--data-dir', server.dataDir).status).toBe(0)
    const file = join(copy, 'understudy.mdb')
    const { size } = statSync(file)
    for (const pageCount of [size / pageBytes - 1, 3]) {
      truncateSync(file, pageCount * pageBytes)
      const cut = understudy('verify', '--data-dir', copy)
      expect({ status: cut.status, signal: cut.signal }).toEqual({ status: 1, signal: null })
      expect(cut.stdout).toMatch(/is damaged|truncated/)
    }
    writeFileSync(file, 'x'.repeat(50_000))
    expect(understudy('verify', '--data-dir', copy).stdout).toContain('is not a database of this program')
    mkdirSync(join(copy, 'none'))
    expect(understudy('verify', '--data-dir', join(copy, 'none')).stdout).toContain('there is no database')
  })

  test('decodes a sample of 200 images by default, and all images on request', async () => {
    const dataDir = join(scratchDir(), 'data')
    const store = await openLmdbStore({ dataDir })
    const normalised = await smallJpeg(1)
    const image = { sha256: new Uint8Array(32), uploadedBytes: 1, width: 64, height: 48, normalised }
    const keys = Array.from({ length: 201 }, (_, index) => ({ gallId: 'g', postNo: index + 1, position: 1 }))
    await Promise.all(keys.map((key) => store.putImage(key, image)))
    await store.close()
    const decoded = (...flags: string[]): unknown =>
      JSON.parse(understudy('verify', '--json', '--data-dir', dataDir, ...flags).stdout)
    expect(decoded()).toMatchObject({ sound: true, counts: { images: 201 }, images_decoded: 200 })
    expect(decoded('--all-images')).toMatchObject({ sound: true, images_decoded: 201 })
  })
})

/** Whether root's right to give files away can be taken from a process. */
function droppable(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  return spawnSync('setpriv', ['--bounding-set=-chown', 'true']).status === 0
}

/** Flips a bit right after the first occurrence of `text` in a file. */
function flipIn(file: string, text: string): void {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text) + text.length + 3
  bytes[at] = bytes[at]! ^ 1
  writeFileSync(file, bytes)
}

/** Gives a file to the user `nobody`, and follows no link. */
function chownIfThere(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) lchownSync(path, 65534, 65534)
}
