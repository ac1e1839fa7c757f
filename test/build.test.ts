/** scripts/build.mjs, in a small project whose compiler copies the sources. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { projectDir } from './helpers/server-process.js'
import { scratchDir } from './helpers/servers.js'

let project: string
const write = (file: string, text: string, mode = 0o644): void =>
  writeFileSync(join(project, file), text, { mode })
const built = (): string => readFileSync(join(project, 'dist/a.ts'), 'utf8')

beforeEach(() => {
  project = scratchDir()
  for (const directory of ['scripts', 'src/deep']) mkdirSync(join(project, directory), { recursive: true })
  copyFileSync(join(projectDir, 'scripts/build.mjs'), join(project, 'scripts/build.mjs'))
  for (const file of ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json']) write(file, '{}')
  write('src/a.ts', 'first')
  write('src/deep/b.ts', 'deep')
  // The last argument is the directory of the output; a source that says so does not compile.
  const compiler = '#!/bin/sh\ngrep -q broken src/a.ts && exit 2\nfor out; do :; done\ncp -r src "$out"\n'
  write('scripts/pinned', compiler, 0o755)
})

function build(): { status: number | null; compiled: boolean } {
  const { status, stdout } = spawnSync(process.execPath, [join(project, 'scripts/build.mjs')], {
    encoding: 'utf8',
  })
  return { status, compiled: stdout.includes('compiling') }
}

test('what is up to date is not compiled again', () => {
  expect([build(), build()]).toEqual([
    { status: 0, compiled: true },
    { status: 0, compiled: false },
  ])
})

test.each(['src/a.ts', 'src/deep/b.ts', 'src/new.ts', 'package-lock.json', 'tsconfig.build.json'])(
  'an edit of %s is compiled',
  (file) => {
    build()
    write(file, 'second')
    expect(build()).toEqual({ status: 0, compiled: true })
  },
)

test('an edit of a test is not compiled', () => {
  build()
  write('src/a.test.ts', 'test')
  expect(build().compiled).toBe(false)
})

test('a build that fails leaves the last one, and the next build compiles again', () => {
  build()
  write('src/a.ts', 'broken')
  expect(build()).toEqual({ status: 1, compiled: true })
  expect(built()).toBe('first')
  write('src/a.ts', 'second')
  build()
  expect(built()).toBe('second')
  expect(existsSync(join(project, 'dist/deep/b.ts'))).toBe(true)
})
