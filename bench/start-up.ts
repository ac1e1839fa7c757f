/**
 * How long does a server with a full pool take to start? Restarts it several times on one directory.
 */
import { Client, expectStatus } from '../test/harness/http.js'
import { fillPool } from './cycles.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer } from './server-under-test.js'

const startCount = 7

export async function measureStartUp(size: RunSize): Promise<Measurement> {
  return withServer({}, async (server) => {
    const { cycle, response } = await fillPool(server, scaledShape(cycleScenarios.full.shape, size.scale))
    const samplesMs: number[] = []
    const rounds = Math.min(startCount, size.cycleCount ?? startCount)
    for (let round = 0; round < rounds; round++) {
      await server.kill('SIGTERM')
      samplesMs.push(await server.timedStart())
    }
    const client = new Client(server)
    const stored = await client.send({ method: 'GET', path: `/v1/scores/${cycle.cycleId}` })
    client.close()
    if (!expectStatus(stored, 200, 'GET after a restart').equals(response)) {
      throw new Error('a restart changed a stored response')
    }
    const after = server.usage()
    return measurementOf({
      scenario: 'start-up',
      samplesMs,
      busyS: sequentialS(samplesMs),
      bytes: 0,
      clientBusyShare: 0,
      before: { ...after, cpuMs: null },
      after,
      details: { note: 'from the start of the process to the first response of health' },
    })
  })
}
