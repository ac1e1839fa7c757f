/**
 * docs/tutorial.md: its commands run as written, in order, in a temporary directory. Only the port is substituted. Skipped, with
 * one line, if Python has no scikit-learn or no onnx.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, projectDir } from '../harness/server.js'
import { scratchDir } from '../helpers/servers.js'

/** A PATH on which `python3` has the libraries. Debian's packages belong to /usr/bin/python3. */
const path = [process.env['PATH'] ?? '', `/usr/bin:${process.env['PATH'] ?? ''}`].find((each) => {
  const env = { ...process.env, PATH: each }
  return spawnSync('python3', ['-c', 'import sklearn, onnx'], { env }).status === 0
})
if (path === undefined)
  console.log('skipped: test/system/tutorial.test.ts needs python3-sklearn and python3-onnx')

const page = readFileSync(join(projectDir, 'docs/tutorial.md'), 'utf8')
const commands = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block]) => block)

test.skipIf(path === undefined)(
  'the tutorial collects, exports, trains, verifies, shadows, reports and activates',
  async () => {
    const port = String(await freePort())
    const script = ["trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", ...commands].join('\n')
    const { code, output } = await runScript(
      script.replace('UNDERSTUDY_PORT=8080', `UNDERSTUDY_PORT=${port}`),
    )
    expect(code, output).toBe(0)
    // demo-1 is made in the same way.
    expect(output).toMatch(/^PASS +golden +12 golden cases/m)
    expect(output).toContain('first-1 passed verification')
    expect(output).toMatch(
      /^With as many picks in each cycle as the operators, the model would have picked [1-9]\d* posts\. /m,
    )
    expect(output).toMatch(/^first-1 +[\d.]+ % \(/m)
    expect(output).toMatch(/^by recommendations +[\d.]+ % \(/m)
    expect(output).toMatch(/^model \(transport-test-1\) +first-1 +[+-]/m)
    expect(output).toMatch(/^transport-test-1 +\d+ +20260304T0005\nfirst-1 +13 +20260304T0705$/m)
  },
  300_000,
)

/** Runs a script in the checkout; its standard output and error come as one text. */
async function runScript(script: string): Promise<{ code: number | null; output: string }> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('UNDERSTUDY_'))
  const env = { ...Object.fromEntries(inherited), PATH: path, TMPDIR: scratchDir() }
  const child = spawn('bash', ['-euo', 'pipefail', '-c', `exec 2>&1\n${script}`], {
    cwd: projectDir,
    env,
    detached: true,
  })
  // The script and the server that it starts are one process group.
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // All have ended.
    }
  })
  let output = ''
  child.stdout.on('data', (piece: Buffer) => (output += piece.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}
