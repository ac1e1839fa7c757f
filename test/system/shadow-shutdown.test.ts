/**
 * Shutdown while a shadow is scoring: the server does not wait for it, since `models compare` can replay the cycle, and
 * the data directory stays valid.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makePackage } from '../../models/make-transport-test.js'
import { databasePath, openSnapshot } from '../../src/store/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { executable } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

/** Far beyond the time limit of a test: a server that waits for the stopped process fails it. */
const longMs = '600000'

test.runIf(process.platform === 'linux')(
  'a shadow that is scoring does not delay the shutdown; it skips the cycle, and the directory is valid',
  async () => {
    const modelsDir = join(scratchDir(), 'models')
    for (const [version, seed] of [['a', 11] as const, ['b', 22] as const]) {
      mkdirSync(join(modelsDir, version), { recursive: true })
      for (const [file, content] of Object.entries(makePackage(version, seed)))
        writeFileSync(join(modelsDir, version, file), content)
    }
    writeFileSync(join(modelsDir, 'ACTIVE'), 'a\n')
    writeFileSync(join(modelsDir, 'SHADOW'), 'b\n')
    const server = await started({
      UNDERSTUDY_MODELS_DIR: modelsDir,
      UNDERSTUDY_PREDICT_MS_MAX: longMs,
      UNDERSTUDY_SHUTDOWN_MS_MAX: longMs,
    })
    await server.logged('shadow model started')
    const shadowPid = pidsOfHeads(server.log).at(-1)
    expect(shadowPid).toBeDefined()
    process.kill(shadowPid!, 'SIGSTOP')
    const body = cycleBody(0, {
      candidates: [candidate('g', 1)],
      engagement: [reading('g', 1, cycleMs(0))],
    })
    expect((await server.postCycle(body)).status).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)

    await server.logged(/"model_version":"b","position":1,"reason":"[^"]*closed"/)
    const { store } = await openSnapshot(databasePath(server.dataDir))
    expect(store.lastCycle()?.position).toBe(1)
    expect(store.models.readShadowScores(1, 'b')).toBeUndefined()
    await store.close()
    const verify = spawnSync(executable, ['verify', '--data-dir', server.dataDir], { encoding: 'utf8' })
    expect(verify.status, verify.stdout + verify.stderr).toBe(0)
  },
)

function pidsOfHeads(log: string): number[] {
  return log.split('\n').flatMap((line) => {
    const pid = /"role":"heads","pid":(\d+)/.exec(line)?.[1]
    return pid === undefined ? [] : [Number(pid)]
  })
}
