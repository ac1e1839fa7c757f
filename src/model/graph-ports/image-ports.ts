/**
 * The graph of an image encoder: a batch of pictures of one size in, a vector each out, or tokens or cells to pool.
 */
import { portText } from '../onnx-file/index.js'
import type { ImagePlan } from '../sessions/protocol.js'
import { allows, isFree, missingInput, missingOutput, portNamed, strayInputs, type Ports } from './ports.js'

export type ImagePorts = Pick<ImagePlan, 'input' | 'output' | 'dim' | 'resize' | 'crop' | 'layout' | 'pool'>

const channelCount = 3

/** Width and height of what the graph sees. */
export function pixelSize({ resize, crop }: Pick<ImagePlan, 'resize' | 'crop'>): {
  readonly width: number
  readonly height: number
} {
  if (crop !== null) return crop
  // The manifest's check sees to it that a shortest edge comes with a crop.
  if ('shortestEdge' in resize) throw new Error('resize to a shortest edge needs a crop')
  return resize
}

/** Shape of a tensor of `count` images. */
export function inputShape(
  plan: Pick<ImagePlan, 'resize' | 'crop' | 'layout'>,
  count: number,
): readonly number[] {
  const { width, height } = pixelSize(plan)
  return plan.layout === 'nchw' ? [count, channelCount, height, width] : [count, height, width, channelCount]
}

/** Whether vectors can be made of an output of this shape, free sizes included. */
export function isPoolable(
  shape: readonly (number | string | null)[],
  { dim, pool }: Pick<ImagePlan, 'dim' | 'pool'>,
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

/** What is wrong with a graph's inputs and outputs, each in words; none: it can serve. */
export function imagePortProblems(file: Ports, plan: ImagePorts): string[] {
  return [...inputProblems(file, plan), ...strayInputs(file, [plan.input]), ...outputProblems(file, plan)]
}

function inputProblems(file: Ports, plan: ImagePorts): string[] {
  const port = portNamed(file.inputs, plan.input)
  if (port === undefined) return [missingInput(file, plan.input)]
  const [, ...wanted] = inputShape(plan, 1)
  const { dtype, shape } = port
  const fits =
    shape === null ||
    (shape.length === wanted.length + 1 &&
      isFree(shape[0]) &&
      wanted.every((size, index) => allows(shape[index + 1], size)))
  if (dtype === 'float32' && fits) return []
  return [`input ${plan.input} must be float32 [N, ${wanted.join(', ')}], and is ${portText(port)}`]
}

function outputProblems(file: Ports, plan: ImagePorts): string[] {
  const { output, dim, pool } = plan
  const port = portNamed(file.outputs, output)
  if (port === undefined) return [missingOutput(file, output)]
  const { dtype, shape } = port
  // Its first size may be anything: see ports.ts.
  if (dtype === 'float32' && (shape === null || isPoolable(shape, plan))) return []
  const forms = [`[N, ${dim}]`]
  if (pool !== null) forms.push(`[N, tokens, ${dim}]`)
  if (pool === 'mean') forms.push(`[N, ${dim}, height, width]`)
  return [
    `output ${output} must be float32 ${forms.join(' or ')}, and is ${portText(port)}${hint(plan, shape)}`,
  ]
}

/** Where another `pool` would do. */
function hint(plan: ImagePorts, shape: readonly (number | string | null)[] | null): string {
  if (shape === null || isPoolable(shape, plan) || !isPoolable(shape, { dim: plan.dim, pool: 'mean' }))
    return ''
  return plan.pool === null
    ? ': image.pool says how that becomes one vector'
    : ': cells have no first one, so image.pool must be mean'
}
