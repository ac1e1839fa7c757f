/**
 * How fast are requests other than new cycles? Measures repeated cycles, stored scores, image uploads and health with
 * autocannon, each against a new server.
 */
import { Client, expectStatus } from './client.js'
import { fillPool } from './cycles.js'
import { load, type LoadFigures, type LoadOptions } from './load.js'
import { measurementOf, type Measurement, type MeasurementDetails } from './measurement.js'
import { jpegSource } from './jpegs.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'

/** Sends a stored full cycle again, which returns the stored response. */
export async function measureReplay(size: RunSize): Promise<Measurement> {
  return withServer({}, async (server) => {
    const { cycle, response } = await fillPool(server, scaledShape(cycleScenarios.full.shape, size.scale))
    const request = { method: 'POST', path: '/v1/cycles', body: cycle.request } as const
    await expectBytes(server, request, response)
    return measureLoad(
      'replay',
      server,
      {
        address: server,
        connectionCount: 2,
        seconds: size.seconds,
        request: { ...request, contentType: 'application/json' },
        expectedStatus: 200,
        sameLength: true,
      },
      { requestBytes: cycle.request.length, responseBytes: response.length },
    )
  })
}

/** Requests the stored response of a full cycle. */
export async function measureGetScores(size: RunSize): Promise<Measurement> {
  return withServer({}, async (server) => {
    const { cycle, response } = await fillPool(server, scaledShape(cycleScenarios.full.shape, size.scale))
    const request = { method: 'GET', path: `/v1/scores/${cycle.cycleId}` } as const
    await expectBytes(server, request, response)
    return measureLoad(
      'get-scores',
      server,
      {
        address: server,
        connectionCount: 4,
        seconds: size.seconds,
        request,
        expectedStatus: 200,
        sameLength: true,
      },
      { responseBytes: response.length },
    )
  })
}

/** Uploads new images of 1024 pixels and about 200 kB, which the server decodes, normalises and flushes. */
export async function measureImagePut(size: RunSize): Promise<Measurement> {
  const jpegOf = await jpegSource()
  return withServer({}, async (server) => {
    let number = 0
    const nextRequest = (): { path: string; body: Buffer } => {
      number++
      return { path: `/v1/images/bench/${number}/01`, body: jpegOf(number) }
    }
    await expectImageStored(server, nextRequest())
    return measureLoad(
      'image-put',
      server,
      {
        address: server,
        connectionCount: 2,
        seconds: size.seconds,
        request: { method: 'PUT', path: '/', contentType: 'image/jpeg' },
        nextRequest,
        expectedStatus: 201,
      },
      { requestBytes: jpegOf(1).length },
    )
  })
}

/** Requests health on an otherwise idle server. */
export async function measureHealth(size: RunSize): Promise<Measurement> {
  return withServer({}, (server) =>
    measureLoad(
      'health',
      server,
      {
        address: server,
        connectionCount: 10,
        seconds: size.seconds,
        request: { method: 'GET', path: '/v1/health' },
        expectedStatus: 200,
      },
      {},
    ),
  )
}

async function measureLoad(
  scenario: string,
  server: ServerUnderTest,
  options: LoadOptions,
  details: MeasurementDetails,
): Promise<Measurement> {
  const before = server.usage()
  const figures: LoadFigures = await load(options)
  const after = server.usage()
  await server.stop()
  return measurementOf({
    scenario,
    samplesMs: figures.samplesMs,
    busyS: figures.tookS,
    bytes: figures.bytes + figures.samplesMs.length * (details.requestBytes ?? 0),
    clientBusyShare: figures.clientBusyShare,
    before,
    after,
    details,
  })
}

async function expectBytes(
  server: ServerUnderTest,
  call: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: Buffer },
  expected: Buffer,
): Promise<void> {
  const client = new Client(server)
  const body = expectStatus(await client.send(call), 200, `${call.method} ${call.path}`)
  client.close()
  if (!body.equals(expected)) throw new Error(`${call.method} ${call.path} differs from the first response`)
}

async function expectImageStored(
  server: ServerUnderTest,
  image: { readonly path: string; readonly body: Buffer },
): Promise<void> {
  const client = new Client(server)
  const put = { method: 'PUT', ...image, headers: { 'content-type': 'image/jpeg' } } as const
  expectStatus(await client.send(put), 201, 'a new image')
  expectStatus(await client.send(put), 200, 'the same image again')
  client.close()
}
