/**
 * What a profile says about the nodes of a graph. test/gpu reads profiles that a provider has written.
 */
import { expect, test } from 'vitest'
import {
  isMostlyOnCpu,
  isPartial,
  nodesText,
  placementOf,
  placementText,
  providersOf,
  takesNothing,
  type NodePlacement,
  type Placement,
  type ProfileEvent,
} from './placement.js'

const cpu = 'CPUExecutionProvider'
const device = 'WebGpuExecutionProvider'

test('a profile gives the nodes on the CPU by operator, and their part of the whole run, of which kernels of a device are no measure', () => {
  const events = [
    ...run(1000, 100, [
      [cpu, 'Shape', 10],
      [cpu, 'Cast', 5],
      [cpu, 'Shape', 10],
      [device, 'MatMul', 1],
    ]),
  ]
  expect(placementOf(events)).toEqual({ count: 4, onCpu: { Shape: 2, Cast: 1 }, cpuTimeShare: 0.25 })
})

test('nodes that run side by side take at most the whole run', () => {
  const nodes = [60, 70].map((onCpu) => [cpu, 'MatMul', onCpu] as const)
  expect(placementOf(run(0, 100, nodes)).cpuTimeShare).toBe(1)
})

test('the first of several runs does not count, and of the others the one with the median part does', () => {
  const events = [90, 10, 30, 20].flatMap((onCpu, index) =>
    run(1000 * index, 100, [
      [cpu, 'Shape', onCpu],
      [device, 'MatMul', 1],
    ]),
  )
  expect(placementOf(events).cpuTimeShare).toBe(0.2)
})

test('only the kernels of nodes count: events around them and of the session have other names', () => {
  const kernel: ProfileEvent = {
    cat: 'Node',
    name: 'MatMul_1_kernel_time',
    ts: 2,
    dur: 1,
    args: { provider: device, op_name: 'MatMul' },
  }
  const events = [
    { cat: 'Session', name: 'model_run', ts: 0, dur: 10 },
    kernel,
    { ...kernel, name: 'MatMul_1_fence_before' },
    { ...kernel, cat: 'Api' },
    { cat: 'Session', name: 'SequentialExecutor::Execute', ts: 1, dur: 8 },
  ]
  expect(placementOf(events)).toEqual({ count: 1, onCpu: {}, cpuTimeShare: 0 })
})

test('a graph runs mostly on the CPU above half of a run, and never if the CPU is its provider', () => {
  const shares = [0.5, 0.51].map((cpuTimeShare) => placed({ count: 2, onCpu: { Shape: 1 }, cpuTimeShare }))
  expect(shares.map(isMostlyOnCpu)).toEqual([false, true])
  expect(isMostlyOnCpu(placed(null))).toBe(false)
})

test('a provider takes nothing if every node is on the CPU, however little time that takes', () => {
  expect(takesNothing({ count: 2, onCpu: { Shape: 1, Cast: 1 }, cpuTimeShare: 0.01 })).toBe(true)
  expect(takesNothing({ count: 3, onCpu: { Shape: 1, Cast: 1 }, cpuTimeShare: 0.9 })).toBe(false)
})

test('a placement in words names the operators, the most frequent first, and the providers that do not serve', () => {
  const nodes = { count: 71, onCpu: { Cast: 1, Shape: 3 }, cpuTimeShare: 0.0123 }
  expect(placementText({ ...placed(nodes), refused: ['cuda: no driver'] })).toBe(
    'head.onnx runs on webgpu; the CPU runs 4 of 71 nodes (3 Shape, Cast), 1.2 % of a run; not on cuda: no driver',
  )
  expect(nodesText({ count: 8, onCpu: {}, cpuTimeShare: 0 })).toBe('all 8 nodes')
})

test('a placement is partial if the CPU runs a node for another provider, or a provider before it does not serve', () => {
  const whole = { count: 8, onCpu: {}, cpuTimeShare: 0 }
  expect([placed(null), placed(whole)].map(isPartial)).toEqual([false, false])
  const partly = placed({ count: 8, onCpu: { Shape: 1 }, cpuTimeShare: 0 })
  expect([partly, { ...placed(null), refused: ['cuda: no driver'] }].map(isPartial)).toEqual([true, true])
})

test('the providers of several graphs are joined, each once', () => {
  const providers = ['webgpu', 'cpu', 'webgpu'].map((provider) => ({ ...placed(null), provider }))
  expect(providersOf(providers)).toBe('webgpu+cpu')
})

function placed(nodes: NodePlacement | null): Placement {
  return { file: 'head.onnx', provider: nodes === null ? 'cpu' : 'webgpu', refused: [], nodes }
}

/** A run with one event per node, one after the other. */
function run(
  ts: number,
  dur: number,
  nodes: readonly (readonly [provider: string, operator: string, dur: number])[],
): ProfileEvent[] {
  return [
    { cat: 'Session', name: 'model_run', ts, dur },
    ...nodes.map(([provider, operator, nodeDur], index) => ({
      cat: 'Node',
      name: `${operator}_${index}_kernel_time`,
      ts: ts + index + 1,
      dur: nodeDur,
      args: { provider, op_name: operator },
    })),
  ]
}
