/**
 * Writes docs/dependencies.md: every direct dependency with version, licence and purpose, and a summary of the transitive
 * ones, from package.json, package-lock.json and scripts/dependency-purposes.json. With --check it writes nothing and exits with 1 if
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

/** What is wrong with an entry of the lockfile, or null. Without `resolved`, npm uses the configured registry. */
function problemOf([path, entry]) {
  if (entry.link === true) return `${path} is a link`
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? '')) return `${path} has no SHA-512`
  if (entry.resolved !== undefined && !entry.resolved.startsWith(registry))
    return `${path} is not from the registry`
  return null
}

const purposesFile = 'scripts/dependency-purposes.json'

/** Packages of one purpose share an entry. */
function listOf(dependencies, purposes) {
  const groups = new Map()
  for (const [name, range] of Object.entries(dependencies)) {
    const purpose = purposes.get(name)
    if (purpose === undefined) throw new Error(`${purposesFile} does not say what ${name} is for`)
    groups.set(purpose, [...(groups.get(purpose) ?? []), [name, range]])
  }
  const lines = [...groups].map(([purpose, members]) => {
    const entries = members.map(([name, range]) => ({ ...packages[`node_modules/${name}`], name, range }))
    const named = entries.map(({ name, range, version }) => {
      const alias = /^npm:(.+)@/.exec(range)?.[1]
      return `\`${name}\`${alias === undefined ? '' : ` (\`${alias}\`)`} ${version}`
    })
    const licences = entries.map(({ license }) => license)
    const isOne = new Set(licences).size === 1
    return `- ${named.join(', ')} (${isOne ? licences[0] : licences.join(', ')}): ${purpose}`
  })
  return lines.join('\n')
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
/** What each package is for. */
const purposes = new Map(Object.entries(JSON.parse(read(purposesFile))))
const direct = { ...dependencies, ...optionalDependencies, ...devDependencies }
const unused = [...purposes.keys()].filter((name) => !(name in direct) && name !== 'uws-pack')
if (unused.length > 0)
  throw new Error(`${purposesFile} lists packages that package.json lacks: ${unused.join(', ')}`)
const deployed = entries.filter(([, entry]) => entry.dev !== true)
const scripts = entries.filter(([, entry]) => entry.hasInstallScript === true)
const text = `# Dependencies

<!-- Made by scripts/dependencies.mjs; a test checks that it is up to date. -->

<!-- prettier-ignore-start -->

\`package-lock.json\` pins all ${entries.length} packages by version and SHA-512, from the npm registry, and \`npm ci\` installs nothing else.

## Dependencies of the running service

${listOf({ ...dependencies, ...optionalDependencies }, purposes)}

With transitive dependencies, for all platforms: ${deployed.length} packages under ${licencesOf(deployed)}.

## Dependencies for building and testing

${listOf(devDependencies, purposes)}

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
