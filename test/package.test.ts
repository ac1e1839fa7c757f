/** What npm installs of a checkout; the package that `npm pack` makes: its files, and what another project that has installed it can do. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/project.js'
import { scratchDir } from './helpers/servers.js'

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  return stdout
}

test('the package contains the program and the shipped models, and works where npm installs it', () => {
  const project = scratchDir()
  const packages = join(project, 'node_modules')
  mkdirSync(join(packages, 'understudy'), { recursive: true })
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', project]
  const [packed] = JSON.parse(run('npm', args, projectDir)) as [
    { filename: string; files: { path: string }[] },
  ]
  const files = packed.files.map(({ path }) => path)

  const shipped = [
    /^dist\/(?!page\/|understudy-client\/).*\.js$/,
    /^dist\/page\/((index\.html|assets\/[\w-]+\.(js|css|svg))(\.br|\.gz)?|report-document\.js)$/,
    /^models\/(ACTIVE|golden_cases\.py|(demo-1|example-1|transport-test-1)\/.*\.(onnx|json|jpg))$/,
    /^(package\.json|README\.md|bin\/understudy|build\/Release\/understudy_codec\.node)$/,
  ]
  expect(files.filter((file) => !shipped.some((pattern) => pattern.test(file)))).toEqual([])
  expect(files.filter((file) => file.includes('.test.'))).toEqual([])
  expect(files).toEqual(expect.arrayContaining(['bin/understudy', 'dist/cli/main.js', 'models/ACTIVE']))

  run('tar', ['-xzf', packed.filename, '--strip-components=1', '-C', join(packages, 'understudy')], project)
  const installed = join(packages, 'understudy')
  // Nothing to compile: the script for checkouts does nothing here.
  const { scripts } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    scripts: { install: string }
  }
  expect(run('sh', ['-c', `(${scripts.install}) 2>&1`], installed)).toBe('')

  // The packages of the program, where npm puts them: next to it.
  for (const name of readdirSync(join(projectDir, 'node_modules')).filter((entry) => !entry.startsWith('.')))
    symlinkSync(join(projectDir, 'node_modules', name), join(packages, name))
  const verified = run(join(installed, 'bin/understudy'), ['models', 'verify', 'transport-test-1'], project)
  expect(verified).toContain('transport-test-1')
})

test.each([
  ['--omit=dev', {}],
  ['--omit=optional', {}],
  ['--no-optional', {}],
  ['', { NODE_ENV: 'production' }],
  ['', { npm_config_omit: 'optional' }],
])('npm %s %j installs what the build and this platform need', (flag, env) => {
  const project = scratchDir()
  const write = (name: string, manifest: object): void => {
    mkdirSync(join(project, name), { recursive: true })
    writeFileSync(join(project, name, 'package.json'), JSON.stringify(manifest))
  }
  copyFileSync(join(projectDir, '.npmrc'), join(project, '.npmrc'))
  for (const name of ['compiler', 'library']) write(name, { name, version: '1.0.0' })
  write('.', {
    devDependencies: { compiler: 'file:compiler' },
    optionalDependencies: { library: 'file:library' },
  })
  const args = ['install', '--offline', ...(flag === '' ? [] : [flag])]
  const { status, stderr } = spawnSync('npm', args, {
    cwd: project,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  expect(status, stderr).toBe(0)
  expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'compiler',
    'library',
  ])
})
