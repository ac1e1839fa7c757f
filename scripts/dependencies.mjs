/**
 * Writes docs/dependencies.md: every package that this project names, with version, licence and reason, and what they
 * bring along, from package.json, package-lock.json and the reasons in README.md. With --check it writes nothing and
 * ends with 1 where the file is out of date. Either way it first checks the lockfile, and ends with 1 at an entry that
 * has no SHA-512 or does not come from the registry.
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

/** Reasons by package, from the table of README.md. */
function readReasons() {
  const [, table = ''] = /## Dependencies\n([^]*?)(?=\n#|$)/.exec(read('README.md')) ?? []
  const rows = [...table.matchAll(/^\| (`.+?) *\| (.+?) *\|$/gm)]
  return new Map(
    rows.flatMap(([, names, reason]) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => [name, reason])),
  )
}

function tableOf(dependencies, reasons) {
  const rows = Object.entries(dependencies).map(([name, range]) => {
    const { version, license } = packages[`node_modules/${name}`]
    const alias = /^npm:(.+)@/.exec(range)?.[1]
    const reason = reasons.get(name)
    if (reason === undefined) throw new Error(`README.md does not say what ${name} is for`)
    return [`\`${name}\`${alias === undefined ? '' : ` (\`${alias}\`)`}`, version, license, reason]
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
const reasons = readReasons()
const named = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies }))
const unused = [...reasons.keys()].filter((name) => !named.has(name) && name !== 'uws-pack')
if (unused.length > 0)
  throw new Error(`README.md lists packages that package.json lacks: ${unused.join(', ')}`)
const deployed = entries.filter(([, entry]) => entry.dev !== true)
const development = entries.filter(([, entry]) => entry.dev === true)
const scripts = entries.filter(([, entry]) => entry.hasInstallScript === true)
const text = `# Dependencies

<!-- Made by scripts/dependencies.mjs; a test checks that it is up to date. -->

<!-- prettier-ignore-start -->

All are pinned by version and SHA-512 in \`package-lock.json\`, and \`npm ci\` installs nothing else. All ${entries.length}
entries come from the npm registry.

## In the running service

${tableOf({ ...dependencies, ...optionalDependencies }, reasons)}

With what they bring along, all platforms together: ${deployed.length} packages under ${licencesOf(deployed)}.

## For building and testing

${tableOf(devDependencies, reasons)}

With what they bring along: ${development.length} packages under ${licencesOf(development)}.

## Scripts at installation

Packages that declare one: ${scripts.map(([path]) => `\`${path.split('node_modules/').at(-1)}\``).join(', ')}. Those of
${new Intl.ListFormat('en-GB').format(
  Object.keys(manifest.allowScripts ?? {}).map((name) => `\`${name}\``),
)} are denied (\`allowScripts\`, from npm 11.16 on).

<!-- prettier-ignore-end -->
`
if (!process.argv.includes('--check')) writeFileSync(target, text)
else if (read('docs/dependencies.md') !== text) {
  console.error('docs/dependencies.md is out of date: run `node scripts/dependencies.mjs`')
  process.exit(1)
}
