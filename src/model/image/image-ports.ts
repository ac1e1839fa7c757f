/**
 * The graph of an image encoder: a batch of images of one size in, a vector each out, or tokens or cells to pool.
 */
import type { GraphPlan } from '../sessions/plans.js'
import type { ImageSettings } from '../package/settings.js'
import { floatsText, floatTypes, isFloat } from '../sessions/floats.js'
import {
  allows,
  batchRemedy,
  inputProblems,
  outputProblems,
  portNamed,
  portText,
  type Port,
  type Ports,
} from '../sessions/ports.js'

const channelCount = 3

/** Width and height of the graph's input. */
export function pixelSize({ resize, crop }: Pick<ImageSettings, 'resize' | 'crop'>): {
  readonly width: number
  readonly height: number
} {
  if (crop !== null) return crop
  // The check of the manifest guarantees a crop for a shortest edge.
  if ('shortest_edge' in resize) throw new Error('resize to a shortest edge needs a crop')
  return resize
}

export function inputShape(
  plan: Pick<ImageSettings, 'resize' | 'crop' | 'layout'>,
  count: number,
): readonly number[] {
  const { width, height } = pixelSize(plan)
  return plan.layout === 'nchw' ? [count, channelCount, height, width] : [count, height, width, channelCount]
}

/** Whether an output of this shape can be pooled to vectors, even with free sizes. */
function isPoolable(
  shape: readonly (number | string | null)[],
  { dim, pool }: Pick<ImageSettings, 'dim' | 'pool'>,
): boolean {
  switch (shape.length) {
    case 2:
      return allows(shape[1], dim)
    case 3:
      return pool !== null && allows(shape[2], dim)
    case 4:
      return pool === 'mean' && allows(shape[1], dim)
    default:
      return false
  }
}

/** What the ports of a graph depend on. */
export type ImagePorts = ImageSettings & Pick<GraphPlan, 'batch'>

/** The problems of a graph's inputs and outputs, one phrase each; empty if it can serve. */
export function imagePortProblems(ports: Ports, plan: ImagePorts): string[] {
  const types = [...floatTypes, 'uint8']
  const sizes = inputShape(plan, 1).slice(1)
  const remedy = ([count, ...pixels]: NonNullable<Port['shape']>): string =>
    sizes.every((size, index) => allows(pixels[index], size)) ? batchRemedy(count) : ''
  return [
    ...inputProblems(ports, [{ name: plan.input, types, sizes, batch: plan.batch, remedy }]),
    ...normalisationProblems(ports, plan),
    ...outputProblems(ports, plan.output, (port) => imageOutputProblems(port, plan)),
  ]
}

/** A graph of bytes takes the pixels as they are. */
function normalisationProblems(ports: Ports, { input, mean }: ImageSettings): string[] {
  const type = portNamed(ports.inputs, input)?.dtype ?? null
  if (type === 'uint8' && mean !== null)
    return [
      `input ${input} is uint8 and takes the bytes of the pixels: remove image.scale, image.mean and image.std`,
    ]
  if (isFloat(type) && mean === null)
    return [`input ${input} is ${type}: image.mean and image.std are required`]
  return []
}

/** The problems of the output, as its graph declares it or as a run returns it. */
export function imageOutputProblems(port: Port, plan: ImageSettings): string[] {
  const { dim, pool } = plan
  const { name, dtype, shape } = port
  // Its first size is not checked: see ports.ts.
  if (isFloat(dtype) && (shape === null || isPoolable(shape, plan))) return []
  const forms = [`[N, ${dim}]`]
  if (pool !== null) forms.push(`[N, tokens, ${dim}]`)
  if (pool === 'mean') forms.push(`[N, ${dim}, height, width]`)
  return [
    `output ${name} must be ${floatsText} ${forms.join(' or ')}, but is ${portText(port)}${hint(plan, shape)}`,
  ]
}

/** The end of the message if another value of `pool` would be valid, else empty. */
function hint(plan: ImageSettings, shape: readonly (number | string | null)[] | null): string {
  if (shape === null || isPoolable(shape, plan) || !isPoolable(shape, { dim: plan.dim, pool: 'mean' }))
    return ''
  return plan.pool === null
    ? ': set image.pool to make one vector of it'
    : ': an output of cells has no class token, so image.pool must be mean'
}
