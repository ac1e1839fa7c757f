// Ends with one line if this Node is too old to install or build the program. Runs before everything else, so its syntax is old.
import { readFileSync } from 'node:fs'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const [neededMajor, neededMinor] = engines.node.replace('>=', '').split('.').map(Number)
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < neededMajor || (major === neededMajor && minor < neededMinor)) {
  console.error(
    `understudy: needs Node ${neededMajor}.${neededMinor} or later, and this is ${process.version}`,
  )
  process.exit(1)
}
