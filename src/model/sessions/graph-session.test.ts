/**
 * Which files ONNX Runtime takes, against the rules that are told before it is asked, and its reasons as they are told.
 */
import * as ort from 'onnxruntime-node'
import { describe, expect, test } from 'vitest'
import { mlDomain } from '../../../models/onnx-writer.js'
import { smallGraph } from '../../../test/helpers/model-packages.js'
import { fileProblems, irVersionMax, opsetsMax } from '../graph-ports/index.js'
import { readOnnx } from '../onnx-file/index.js'
import { reasonOf } from './graph-session.js'

type Versions = Pick<Parameters<typeof smallGraph>[0], 'opset' | 'mlOpset' | 'irVersion'>
const opset = opsetsMax.get('ai.onnx')!
const mlOpset = opsetsMax.get(mlDomain)!

describe('a file is too new by our rule if and only if ONNX Runtime refuses it', () => {
  test.each<[boolean, Versions]>([
    [false, { irVersion: 3 }],
    [false, { irVersion: irVersionMax, opset, mlOpset }],
    [true, { irVersion: irVersionMax + 1 }],
    [true, { opset: opset + 1 }],
    [true, { mlOpset: mlOpset + 1 }],
  ])('%j: %j', async (isTooNew, versions) => {
    const graph = scaler(versions)
    expect(fileProblems(readOnnx(graph, 'head.onnx'))).toHaveLength(isTooNew ? 1 : 0)
    if (isTooNew) await expect(open(graph)).rejects.toThrow(/max supported IR version|till opset/)
    else await open(graph)
  })
})

test('a reason begins with what is wrong and not with a place in the source of ONNX Runtime, and has no full stop', async () => {
  const reason = await open(scaler({ irVersion: 99 })).catch(reasonOf)
  expect(reason).toBe(`Unsupported model IR version: 99, max supported IR version: ${irVersionMax}`)
  expect(await open(scaler({ opset: 99 })).catch(reasonOf)).toMatch(/^ONNX Runtime only .*[^.]$/)
})

function scaler(versions: Versions): Uint8Array {
  const attributes = { offset: { floats: [0] }, scale: { floats: [1] } }
  return smallGraph({
    operators: [{ type: 'Scaler', inputs: ['features'], outputs: ['probs'], domain: mlDomain, attributes }],
    ...versions,
  })
}

async function open(graph: Uint8Array): Promise<void> {
  const session = await ort.InferenceSession.create(graph, {
    executionProviders: ['cpu'],
    logSeverityLevel: 4,
  })
  await session.release()
}
