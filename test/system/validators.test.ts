/** Tests after an edit: the validators that they run are those of the types as they are. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectDir } from '../helpers/project.js'

const directory = mkdtempSync(join(tmpdir(), 'understudy-validators-'))
const wire = join(directory, 'src/contract/wire.ts')
/** Accepts a weight exactly if the validators have been compiled from these types. */
const probe = `import { expect, test } from 'vitest'
import { checkWeights } from './validate.js'
const weights = { views: -1, comments: 0, up: 0, downvote_share: 0 }
test('probe', () => expect(checkWeights({ version: 'v', weights }) === null).toBe(process.env.EXPECTED === 'true'))
`

beforeAll(() => {
  for (const name of [
    'src',
    'test/helpers',
    'scripts',
    'vitest.config.ts',
    'tsconfig.json',
    'package.json',
    'package-lock.json',
  ])
    cpSync(join(projectDir, name), join(directory, name), { recursive: true })
  symlinkSync(join(projectDir, 'node_modules'), join(directory, 'node_modules'))
  writeFileSync(join(directory, 'src/contract/probe.test.ts'), probe)
  // This test compiles no dist.
  writeFileSync(join(directory, 'test/helpers/build.ts'), 'export default (): void => undefined\n')
})

afterAll(() => {
  rmSync(directory, { recursive: true, force: true })
})

test('an edit of wire.ts alone changes the validators of the next vitest run', async () => {
  await runProbe(false)
  const source = readFileSync(wire, 'utf8')
  const edited = source.replace(
    'type Weight = number & tags.Minimum<0>',
    'type Weight = number & tags.Minimum<-1>',
  )
  expect(edited).not.toBe(source)
  writeFileSync(wire, edited)
  await runProbe(true)
})

async function runProbe(expected: boolean): Promise<void> {
  await promisify(execFile)(
    join(projectDir, 'scripts/pinned'),
    ['vitest', 'run', '--project', 'pure', 'src/contract/probe.test.ts'],
    { cwd: directory, env: { ...process.env, EXPECTED: String(expected), VITEST: '' } },
  )
}
