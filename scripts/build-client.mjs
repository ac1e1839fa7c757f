// Compiles the client as a package of its own, `understudy-client`, into the directory that is its argument: for Node 18, Deno and
// browsers, without dependencies. `npm run pack:client` makes its tarball.
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const target = resolve(process.argv[2] ?? join(root, 'dist/understudy-client'))

const { status } = spawnSync('tsc', ['-p', join(root, 'tsconfig.client.json'), '--outDir', target], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(1)

// The types of the contract carry typia's tags, from which the service derives its validators.
const wire = join(target, 'contract/wire.d.ts')
const text = readFileSync(wire, 'utf8')
const withoutTypia = text.replace(`from 'typia'`, `from './typia.js'`)
if (withoutTypia === text) throw new Error(`${wire} does not import typia`)
writeFileSync(wire, withoutTypia)
copyFileSync(join(root, 'scripts/client-package/typia.d.ts'), join(target, 'contract/typia.d.ts'))
copyFileSync(join(root, 'scripts/client-package/README.md'), join(target, 'README.md'))

const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const manifest = {
  name: 'understudy-client',
  version,
  description: 'The typed client of Understudy.',
  license,
  private: true,
  type: 'module',
  sideEffects: false,
  exports: {
    '.': { types: './client/index.d.ts', default: './client/index.js' },
    './spool': { types: './client/spool.d.ts', default: './client/spool.js' },
    './package.json': './package.json',
  },
  engines: { node: '>=18' },
}
writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
