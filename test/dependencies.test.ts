/**
 * Dependencies are listed with licence and purpose, pinned by hash, and from the registry. `scripts/dependencies.mjs` checks
 * that; here it runs on this project and on faulty copies.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { projectDir } from './helpers/project.js'
import { scratchDir } from './helpers/servers.js'

interface Lockfile {
  packages: Record<
    string,
    { integrity?: string; resolved?: string; link?: boolean; hasInstallScript?: boolean }
  >
}

let copy: string
beforeEach(() => {
  copy = scratchDir()
  for (const directory of ['scripts', 'docs']) mkdirSync(join(copy, directory))
  for (const file of [
    'scripts/dependencies.mjs',
    'docs/dependencies.md',
    'package.json',
    'package-lock.json',
    'scripts/dependency-purposes.json',
  ])
    copyFileSync(join(projectDir, file), join(copy, file))
})

const check = () =>
  spawnSync(process.execPath, [join(copy, 'scripts/dependencies.mjs'), '--check'], { encoding: 'utf8' })

function edit(file: string, change: (text: string) => string): void {
  const path = join(copy, file)
  const before = readFileSync(path, 'utf8')
  const after = change(before)
  expect(after).not.toBe(before)
  writeFileSync(path, after)
}

function editLock(change: (packages: Lockfile['packages']) => void): void {
  edit('package-lock.json', (text) => {
    const lock = JSON.parse(text) as Lockfile
    change(lock.packages)
    return JSON.stringify(lock)
  })
}

test('the list is up to date, every dependency has a purpose, and the lockfile is complete', () => {
  const { status, stderr } = check()
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

test.each<[string, (packages: Lockfile['packages']) => void, string]>([
  [
    'no hash',
    (packages) => delete packages['node_modules/pino']?.integrity,
    'node_modules/pino has no SHA-512',
  ],
  [
    'a weak hash',
    (packages) => (packages['node_modules/pino']!.integrity = 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk='),
    'node_modules/pino has no SHA-512',
  ],
  [
    'another source',
    (packages) => (packages['node_modules/pino']!.resolved = 'https://example.org/pino.tgz'),
    'node_modules/pino is not from the registry',
  ],
  ['a link', (packages) => (packages['node_modules/pino']!.link = true), 'node_modules/pino is a link'],
])('an entry of the lockfile with %s is found', (_, change, problem) => {
  editLock(change)
  const { status, stderr } = check()
  expect(stderr).toContain(problem)
  expect(status).toBe(1)
})

test('a dependency without a purpose, a purpose without a dependency and a wrong version are found', () => {
  const file = 'scripts/dependency-purposes.json'
  const restore = (): void => copyFileSync(join(projectDir, file), join(copy, file))
  edit(file, (text) => text.replace(/^ *"pino":.*\n/m, ''))
  expect(check().stderr).toContain(`${file} does not say what pino is for`)
  restore()
  edit(file, (text) => text.replace(/^ *"pino":.*\n/m, (line) => `${line}${line.replace('pino', 'pinto')}`))
  expect(check().stderr).toContain(`${file} lists packages that package.json lacks: pinto`)
  restore()
  editLock((packages) => Object.assign(packages['node_modules/pino'] ?? {}, { version: '0.0.1' }))
  expect(check().stderr).toContain('out of date')
})

test('no dependency runs a script at installation', () => {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(projectDir, file), 'utf8'))
  const { packages } = read('package-lock.json') as Lockfile
  const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> }
  const withScript = Object.keys(packages)
    .filter((path) => path !== '' && packages[path]?.hasInstallScript === true)
    .map((path) => path.split('node_modules/').at(-1) ?? path)
  expect(allowScripts).toEqual(Object.fromEntries(withScript.map((name) => [name, false])))
})

test('build dependencies are installed with any NODE_ENV', () => {
  // NODE_ENV=production omits `dev`, unless it is in this list.
  const { stdout } = spawnSync('npm', ['config', 'list', '--json'], {
    cwd: projectDir,
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: 'production' },
  })
  expect((JSON.parse(stdout) as { include: unknown }).include).toContain('dev')
})

test('npm does not warn about the settings of this project', () => {
  const { stderr } = spawnSync('npm', ['run'], { cwd: projectDir, encoding: 'utf8' })
  expect(stderr).not.toContain('Unknown project config')
})
