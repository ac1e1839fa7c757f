/**
 * A file system that cannot flush directories: everything that flushes one works, and a warning says once what a power cut may
 * cost. A disk that fails is another matter. The fault comes from a preloaded library.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compileShim, shimImpossible } from './shim.js'
import { cycleBody } from '../helpers/bodies.js'
import { executable, projectDir, ServerProcess } from '../harness/server.js'
import { ended, scratchDir } from '../helpers/servers.js'

type ErrorName = 'EINVAL' | 'EPERM' | 'EOPNOTSUPP' | 'EIO'

/** Variables of a process whose directories cannot be flushed. */
function fault(name: ErrorName): Record<string, string> {
  return {
    LD_PRELOAD: compileShim('crash/native/unflushable_directories.cc', scratchDir()),
    DIRECTORY_SYNC_ERROR: String(constants.errno[name]),
  }
}

function run(
  args: readonly string[],
  env: Record<string, string>,
): { status: number | null; stderr: string } {
  return spawnSync(executable, args, { encoding: 'utf8', env: { ...process.env, ...env } })
}

/** The number of warnings about a directory. */
function warningCount(text: string, directory: string): number {
  return text.split(`warning: the directory ${directory} cannot be flushed to the disk`).length - 1
}

describe.skipIf(shimImpossible).each(['EINVAL', 'EPERM', 'EOPNOTSUPP'] as const)(
  'if directories cannot be flushed (%s)',
  (name) => {
    test('a server starts, and a backup of it and its restore are complete, with one warning each', async () => {
      const parent = scratchDir()
      const [dataDir, copy, restored] = [
        join(parent, 'made', 'data'),
        join(parent, 'copy'),
        join(parent, 'restored'),
      ]
      const server = ended(new ServerProcess(fault(name), { dataDir }))
      await server.start()
      expect((await server.postCycle(cycleBody(0))).status).toBe(200)
      expect([warningCount(server.log, dataDir), warningCount(server.log, parent)]).toEqual([1, 1])
      expect(server.log).toContain(
        'after a power cut, files that were just created or renamed in it may be missing',
      )
      const backup = run(['backup', copy, '--data-dir', dataDir], fault(name))
      expect([backup.status, warningCount(backup.stderr, copy)]).toEqual([0, 1])
      const restore = run(['restore', copy, '--data-dir', restored], fault(name))
      expect([restore.status, warningCount(restore.stderr, restored)], restore.stderr).toEqual([0, 1])
      expect(run(['verify', '--data-dir', restored], {}).status).toBe(0)
    })

    test('`models activate` replaces ACTIVE', () => {
      const modelsDir = join(scratchDir(), 'models')
      mkdirSync(modelsDir)
      cpSync(join(projectDir, 'models/transport-test-1'), join(modelsDir, 'transport-test-1'), {
        recursive: true,
      })
      const args = ['models', 'activate', 'transport-test-1', '--models-dir', modelsDir]
      const { status, stderr } = run([...args, '--data-dir', join(scratchDir(), 'data')], fault(name))
      expect(status, stderr).toBe(0)
      expect(readFileSync(join(modelsDir, 'ACTIVE'), 'utf8')).toBe('transport-test-1\n')
      expect(readdirSync(modelsDir).sort()).toEqual(['ACTIVE', 'transport-test-1'])
      expect(warningCount(stderr, modelsDir)).toBe(1)
    })

    test('a spool keeps its cycles', () => {
      const directory = join(scratchDir(), 'made', 'spool')
      const { status, warnings } = addToSpool(directory, fault(name))
      expect(status).toBe(0)
      expect(readdirSync(directory)).toEqual(['20260302T1205.json', '20260302T1210.json', 'spool.json'])
      const ofSpool = warnings.filter((line) => line.startsWith(`the directory ${directory} `))
      expect(ofSpool).toHaveLength(1)
    })
  },
)

test.skipIf(shimImpossible)('a disk that fails to flush a directory is an error', () => {
  const dataDir = join(scratchDir(), 'data')
  const { status, stderr } = run(['serve', '--data-dir', dataDir, '--port', '0'], fault('EIO'))
  expect([status, stderr]).toEqual([1, expect.stringContaining('EIO') as string])
  expect(addToSpool(join(scratchDir(), 'spool'), fault('EIO')).status).toBe(1)
})

/** Adds two cycles in a process of its own. */
function addToSpool(
  directory: string,
  env: Record<string, string>,
): { status: number | null; warnings: string[] } {
  const script = `
    import { Spool } from ${JSON.stringify(new URL('../../dist/client/spool.js', import.meta.url).href)}
    const onWarning = (message) => console.log(message)
    const spool = await Spool.open({ directory: ${JSON.stringify(directory)}, onWarning })
    for (const cycle_id of ['20260302T1205', '20260302T1210']) await spool.add({ cycle_id })`
  const file = join(scratchDir(), 'add.mjs')
  writeFileSync(file, script)
  const { status, stdout } = spawnSync(process.execPath, [file], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return { status, warnings: stdout.trim().split('\n') }
}
