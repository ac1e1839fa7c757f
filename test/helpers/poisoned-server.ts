/**
 * Loaded into a server that was built, with `NODE_OPTIONS="--import …/poisoned-server.ts"`: memory of request bodies, records and
 * vectors is overwritten when it is released (see poison.ts).
 */
import { isMainThread } from 'node:worker_threads'
import type * as vectors from '../../src/cycle/embeddings/vectors.js'
import type * as bodies from '../../src/server/body.js'
import type * as envelope from '../../src/store/records/envelope.js'
import type * as poison from './poison.js'

const here = import.meta.url

/** Node runs this file as it is, without the resolution of the sources. */
async function load<Module>(path: string): Promise<Module> {
  return (await import(new URL(path, here).href)) as Module
}

// Not in worker threads, and not in child processes.
if (isMainThread && process.argv[2] === 'serve') {
  const { poisonBodies, poisonScratch, poisonVectors } = await load<typeof poison>('poison.ts')
  const { GrowingBytes } = await load<typeof bodies>('../../dist/server/body.js')
  const { Scratch } = await load<typeof envelope>('../../dist/store/records/envelope.js')
  const { VectorTable } = await load<typeof vectors>('../../dist/cycle/embeddings/vectors.js')
  poisonBodies(GrowingBytes)
  poisonScratch(Scratch)
  poisonVectors(VectorTable)
}
