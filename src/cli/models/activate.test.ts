/**
 * `understudy models activate` and `shadow` as processes: the files that they write, messages and exit codes.
 */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  addVersion,
  models,
  modelsDir,
  modelsEnvironment,
  understudy,
} from '../../../test/helpers/models-command.js'
import { scratchDir } from '../../../test/helpers/servers.js'
import { StatusFile } from '../../model/index.js'
import { databasePath, openLmdbStore, pageBytes } from '../../store/index.js'

describe('activate', () => {
  test('verifies the package, writes ACTIVE and names the previous version', () => {
    addVersion('v2')
    expect(models('activate', 'v1').stdout).toMatch(
      /\nv1 is active\. A running server loads it and switches to it between two cycles; .* in use\.\n$/,
    )
    expect(readFileSync(join(modelsDir, 'ACTIVE'), 'utf8')).toBe('v1\n')
    const { status, stdout } = models('activate', 'v2')
    expect(stdout).toContain(' The previous version was v1.\n')
    expect(status).toBe(0)
  })

  test('writes a file that all users can read, under any umask', () => {
    const { status } = spawnSync('sh', ['-c', 'umask 077; "$0" models activate v1', understudy], {
      env: modelsEnvironment(),
    })
    expect(status).toBe(0)
    expect(statSync(join(modelsDir, 'ACTIVE')).mode & 0o777).toBe(0o644)
  })

  test('with --wait returns when the server serves the version, or reports why it does not', async () => {
    const dataDir = scratchDir()
    const wait = (version: string) => models('activate', version, '--wait', '--data-dir', dataDir)
    expect(wait('v1')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('v1 is active, and no server uses the data directory') as string,
    })
    const file = new StatusFile(dataDir, modelsDir)
    await file.write({ versions: [{ version: 'v1', role: 'active', state: 'serving' }], failures: [] })
    expect(wait('v1')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/\nv1 is now serving\.\n$/) as string,
    })
    const failure = { version: 'v1', role: 'active', problem: 'it is broken' } as const
    const versions = [{ version: 'v1', role: 'active', state: 'failed' }] as const
    await file.write({ versions, failures: [{ ...failure, atMs: Date.now() + 3_600_000 }] })
    expect(wait('v1')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('v1 does not serve: it is broken') as string,
    })
  })

  test('says that the server of the data directory has its models in another directory, and does not wait for it', async () => {
    const [dataDir, elsewhere] = [scratchDir(), scratchDir()]
    const file = new StatusFile(dataDir, elsewhere)
    await file.write({ versions: [{ version: 'v1', role: 'active', state: 'serving' }], failures: [] })
    const other = `the server of ${dataDir} has its models in ${elsewhere}`
    const options = ['--data-dir', dataDir]
    for (const command of [['activate', 'v1'], ['shadow', '--none'], ['list']])
      expect(models(...command, ...options)).toMatchObject({
        status: 0,
        stderr: expect.stringContaining(other) as string,
      })
    expect(models('activate', 'v1', '--wait', ...options)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(other) as string,
    })
    // The same directory under another name.
    const link = join(scratchDir(), 'link')
    symlinkSync(modelsDir, link)
    await new StatusFile(dataDir, link).write({ versions: [], failures: [] })
    expect(models('list', ...options).stderr).not.toContain('has its models in')
  })

  test('does not change ACTIVE if verification fails', () => {
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v0\n')
    writeFileSync(join(modelsDir, 'v1', 'golden.json'), '{}')
    const { status, stderr } = models('activate', 'v1')
    expect(stderr).toContain('v1 failed verification: files')
    expect(status).toBe(1)
    expect(readFileSync(join(modelsDir, 'ACTIVE'), 'utf8')).toBe('v0\n')
  })
})

const notChecked = 'Not checked: whether a server has loaded other files as v1'
const note = (why: string): RegExp =>
  new RegExp(`^${notChecked} \\((?=.*/data).*${why}.*\\); --data-dir names the directory of the server\\n$`)
const write = (dataDir: string, content: string): void => {
  mkdirSync(dataDir)
  writeFileSync(databasePath(dataDir), content)
}

describe.each([
  ['activate', 'ACTIVE'],
  ['shadow', 'SHADOW'],
])('%s', (command, file) => {
  test('refuses a version that a running server has loaded with other files', async () => {
    const dataDir = join(scratchDir(), 'data')
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', 'another')
    const { status, stderr } = models(command, 'v1', '--data-dir', dataDir)
    expect(stderr).toBe(
      'understudy: the files of v1 differ from those that a server has loaded as v1; rename the new package to another version\n',
    )
    expect(status).toBe(1)
    expect(existsSync(join(modelsDir, file))).toBe(false)
    addVersion('v2')
    expect(models(command, 'v2', '--data-dir', dataDir)).toMatchObject({ status: 0, stderr: '' })
    await store.close()
  })

  test.each<[string, (dataDir: string) => void, string]>([
    ['no data directory', () => undefined, 'does not exist'],
    ['no database', (dataDir) => mkdirSync(dataDir), 'there is no database'],
    ['an empty file', (dataDir) => write(dataDir, ''), 'is not a database'],
    ['a file that is not a database', (dataDir) => write(dataDir, 'x'.repeat(100_000)), 'is not a database'],
    [
      'a link to itself',
      (dataDir) => {
        mkdirSync(dataDir)
        symlinkSync('understudy.mdb', databasePath(dataDir))
      },
      'is not a regular file',
    ],
  ])('with %s skips this check with a note', (_, make, why) => {
    const dataDir = join(scratchDir(), 'data')
    make(dataDir)
    const { status, stderr } = models(command, 'v1', '--data-dir', dataDir)
    expect(stderr).toMatch(note(why))
    expect(status).toBe(0)
    expect(readFileSync(join(modelsDir, file), 'utf8')).toBe('v1\n')
  })

  test('skips this check with a note if the database is damaged', async () => {
    const dataDir = join(scratchDir(), 'data')
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', 'another')
    await store.close()
    truncateSync(databasePath(dataDir), 2 * pageBytes)
    const { status, stderr } = models(command, 'v1', '--data-dir', dataDir)
    expect(stderr).toMatch(note('is damaged'))
    expect(status).toBe(0)
  })

  test('accepts the files that a server has loaded', async () => {
    const dataDir = join(scratchDir(), 'data')
    const { identity } = JSON.parse(models('inspect', 'v1', '--json').stdout) as { identity: string }
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('v1', identity)
    await store.close()
    expect(models(command, 'v1', '--data-dir', dataDir)).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(join(modelsDir, file), 'utf8')).toBe('v1\n')
  })
})

describe('shadow', () => {
  test('verifies versions and writes one per line; --none removes them', () => {
    addVersion('v2')
    const { status, stdout } = models('shadow', 'v2', 'v1')
    expect(stdout).toMatch(/\nShadow models: v2, v1\. .*\n$/)
    expect(status).toBe(0)
    expect(readFileSync(join(modelsDir, 'SHADOW'), 'utf8')).toBe('v2\nv1\n')
    expect(models('shadow').stdout).toBe('v2\nv1\n')
    models('shadow', '--none')
    expect(readFileSync(join(modelsDir, 'SHADOW'), 'utf8')).toBe('')
    expect(models('shadow').stdout).toBe('There are no shadow models.\n')
  })

  test.each([
    [['v1'], 'v1 is the active model and cannot be a shadow model'],
    [['v2', 'v2'], 'a version is listed twice'],
    [['--none', 'v2'], '--none cannot be combined with versions'],
  ])('refuses %j', (args, message) => {
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
    const { status, stderr } = models('shadow', ...args)
    expect(stderr).toContain(message)
    expect(status).toBe(2)
    expect(existsSync(join(modelsDir, 'SHADOW'))).toBe(false)
  })

  test('does not change SHADOW if verification fails', () => {
    addVersion('v2')
    writeFileSync(join(modelsDir, 'v2', 'head.onnx'), '')
    expect(models('shadow', 'v1', 'v2').status).toBe(1)
    expect(existsSync(join(modelsDir, 'SHADOW'))).toBe(false)
  })
})
