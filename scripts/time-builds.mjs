// Prints how long a developer waits: `npm run bench:build`. The median of five for a build with nothing changed, after a changed line
// of the server and of the page, and for one unit test after a changed line. It adds a comment to a source and takes it away.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'

const rounds = 5
const root = fileURLToPath(new URL('..', import.meta.url))
const npm = ['npm', 'run', 'build']
const vitest = ['scripts/pinned', 'vitest', 'run', '--project', 'pure', 'src/cli/text/format.test.ts']

function time([program, ...args]) {
  const started = performance.now()
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${stdout}${stderr}`)
  return (performance.now() - started) / 1000
}

function timeAfterChange(file, command) {
  const text = readFileSync(`${root}/${file}`, 'utf8')
  try {
    return Array.from({ length: rounds }, (_, round) => {
      writeFileSync(`${root}/${file}`, `${text}// ${round}\n`)
      return time(command)
    })
  } finally {
    writeFileSync(`${root}/${file}`, text)
    time(npm)
  }
}

function report(what, seconds) {
  const median = seconds.sort((a, b) => a - b)[Math.floor(rounds / 2)]
  console.log(`${what.padEnd(32)} ${median.toFixed(2)} s`)
}

time(npm)
report(
  'nothing changed',
  Array.from({ length: rounds }, () => time(npm)),
)
report('one line of the server', timeAfterChange('src/cli/text/format.ts', npm))
report('one line of the page', timeAfterChange('src/page/format.ts', npm))
report('one unit test after a change', timeAfterChange('src/cli/text/format.ts', vitest))
