// Compiles the native codec (src/codec/native) into build/Release. Runs at `npm ci` and `npm install`, and never fails
// them: without a compiler the service runs on its reference codec and says so. Needs g++ (or clang), make and python3.
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** node-gyp as npm ships it; npm names it to the scripts that it runs. */
const nodeGyp = process.env.npm_config_node_gyp

/** Headers of the pinned Node, so that nothing is downloaded. Node-API is the same in every later version. */
const headers = join(root, 'node_modules', `node-${process.platform}-${process.arch}`)

/** Why there is nothing to build with, or null. */
function obstacle() {
  if (!nodeGyp) return 'run this through npm: npm run build:native'
  if (!existsSync(join(root, 'node_modules/simdjson/simdjson/src/simdjson.cpp')))
    return 'the package simdjson is not installed'
  return null
}

function build() {
  const nodedir = existsSync(join(headers, 'include/node/node_api.h')) ? [`--nodedir=${headers}`] : []
  // Not `rebuild`: it would empty build/, where other things are kept.
  const built = spawnSync(process.execPath, [nodeGyp, 'configure', 'build', '--silent', ...nodedir], {
    cwd: root,
    encoding: 'utf8',
  })
  if (built.status === 0) return null
  const lines = `${built.stdout}\n${built.stderr}`.split('\n')
  return (
    lines.find((line) => /error|not found|no such file|could not/i.test(line))?.trim() ??
    `node-gyp ended with ${built.status}`
  )
}

const reason = obstacle() ?? build()
if (reason !== null) {
  // One of an older version must not be loaded in its place.
  rmSync(join(root, 'build/Release/understudy_codec.node'), { force: true })
  console.error(`understudy: the native codec was not built, the reference codec will serve: ${reason}`)
}
