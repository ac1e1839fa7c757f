/** A service on a machine without a compiler: the addon does not load, and nothing but the speed differs. */
import { expect, test } from 'vitest'
import type { CycleResponse } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import type { ServerProcess } from '../harness/server.js'
import { started } from '../helpers/servers.js'

/** In every thread and process of the service. */
const withoutAddon = `data:text/javascript,${encodeURIComponent(`
  const load = process.dlopen
  process.dlopen = (module, file, ...more) => {
    if (file.endsWith('understudy_codec.node')) throw new Error('no such addon')
    return load(module, file, ...more)
  }`)}`

const cycle = cycleBody(0, {
  candidates: [1, 2, 3].map((post) => candidate('갤러리', post, { body_html: '<p>본문</p>' })),
  engagement: [1, 2].map((post) => reading('갤러리', post, cycleMs(0), { views: 100 * post, up: null })),
})

/** The results, with scores to the digits in which both agree. */
async function resultsOf(server: ServerProcess): Promise<object[]> {
  const { status, json } = await server.postCycle(cycle)
  expect(status).toBe(200)
  return (json as CycleResponse).results.map((result) => ({ ...result, ...rounded(result) }))
}

function rounded(result: object): object {
  const numbers = Object.entries(result).filter(([, value]) => typeof value === 'number')
  return Object.fromEntries(numbers.map(([name, value]) => [name, (value as number).toFixed(5)]))
}

test('a service without the addon says so once, and gives the scores of one that has it', async () => {
  const plain = await started({ NODE_OPTIONS: `--import ${withoutAddon}` })
  await plain.logged(
    /"codec":"reference","msg":"reference codec, slower: the native codec does not load: no such addon"/,
  )
  const native = await started()
  await native.logged('"codec":"native","msg":"native codec"')
  const results = await resultsOf(plain)
  expect(results).toMatchObject([{ status: 'scored' }, { status: 'scored' }, { status: 'waiting' }])
  expect(results).toEqual(await resultsOf(native))
  const refused = await Promise.all([plain, native].map((server) => server.postCycle({ cycle_id: 7 })))
  expect(refused.map(({ status }) => status)).toEqual([400, 400])
  expect(refused[0]!.json).toEqual(refused[1]!.json)
})
