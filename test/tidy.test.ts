/**
 * House rules that a test can check by reading the sources.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/project.js'

const sourcePattern = /\.(tsx?|css|mjs|js|cc|h)$/
const testPattern = /\.test\.tsx?$/

function filesOf(folder: string): string[] {
  return readdirSync(join(projectDir, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => sourcePattern.test(name) && statSync(join(projectDir, name)).isFile())
    .sort()
}

function read(file: string): string {
  return readFileSync(join(projectDir, file), 'utf8')
}

const srcFiles = filesOf('src').filter((file) => !testPattern.test(file))

test('every file of src begins with a comment that describes its contents', () => {
  expect(srcFiles.filter((file) => !/^(\/\*\*?[\s\n]|\/\/ )/.test(read(file)))).toEqual([])
})

test('no file of src only re-exports, apart from the index.ts of a folder', () => {
  const forwards = (file: string): boolean => {
    const code = read(file)
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/^\/\/.*$/gm, '')
    return code.replace(/export (type )?(\*|\{[^}]*\}) from '[^']*'/g, '').trim() === ''
  }
  const found = srcFiles.filter(
    (file) => file.endsWith('.ts') && !file.endsWith('/index.ts') && forwards(file),
  )
  expect(found).toEqual([])
})

test('no file of src imports itself through others, not even for types', () => {
  const imports = new Map(
    srcFiles.filter((file) => file.endsWith('.ts')).map((file) => [file, importsOf(file)]),
  )
  expect(imports.get('src/cli/program.ts')).toContain('src/cli/commands.ts')
  expect([...imports.keys()].filter((file) => reaches(imports, file))).toEqual([])
})

function importsOf(file: string): string[] {
  return [
    ...read(file).matchAll(/^(?:import|export)\b[^'=]*?'(\.[^']+)\.js'|\bimport\('(\.[^']+)\.js'\)/gm),
  ].map(([, first, second]) => `${relative('.', join(dirname(file), first ?? second ?? ''))}.ts`)
}

/** Whether a file imports itself, directly or through others. */
function reaches(imports: ReadonlyMap<string, readonly string[]>, start: string): boolean {
  const open = [...(imports.get(start) ?? [])]
  const seen = new Set<string>()
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (file === start) return true
    if (seen.has(file)) continue
    seen.add(file)
    open.push(...(imports.get(file) ?? []))
  }
  return false
}
