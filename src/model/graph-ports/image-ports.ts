/**
 * The graph of an image encoder: a batch of pictures of one size in, a vector each out, or tokens or cells to pool.
 */
import type { ImagePlan, ImagePorts } from '../plans/index.js'
import {
  allows,
  isFree,
  missingInput,
  missingOutput,
  portNamed,
  portText,
  unknownInputs,
  type Ports,
} from './ports.js'

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

/** The problems of a graph's inputs and outputs, a phrase each; none: it can serve. */
export function imagePortProblems(ports: Ports, plan: ImagePorts): string[] {
  return [
    ...inputProblems(ports, plan),
    ...unknownInputs(ports, [plan.input]),
    ...outputProblems(ports, plan),
  ]
}

function inputProblems(ports: Ports, plan: ImagePorts): string[] {
  const port = portNamed(ports.inputs, plan.input)
  if (port === undefined) return [missingInput(ports, plan.input)]
  const [, ...wanted] = inputShape(plan, 1)
  const { dtype, shape } = port
  const fits =
    shape === null ||
    (shape.length === wanted.length + 1 &&
      isFree(shape[0]) &&
      wanted.every((size, index) => allows(shape[index + 1], size)))
  if (dtype === 'float32' && fits) return []
  return [`input ${plan.input} must be float32 [N, ${wanted.join(', ')}], but is ${portText(port)}`]
}

function outputProblems(ports: Ports, plan: ImagePorts): string[] {
  const { output, dim, pool } = plan
  const port = portNamed(ports.outputs, output)
  if (port === undefined) return [missingOutput(ports, output)]
  const { dtype, shape } = port
  // Its first size is not checked: see ports.ts.
  if (dtype === 'float32' && (shape === null || isPoolable(shape, plan))) return []
  const forms = [`[N, ${dim}]`]
  if (pool !== null) forms.push(`[N, tokens, ${dim}]`)
  if (pool === 'mean') forms.push(`[N, ${dim}, height, width]`)
  return [
    `output ${output} must be float32 ${forms.join(' or ')}, but is ${portText(port)}${hint(plan, shape)}`,
  ]
}

/** Where another `pool` would do. */
function hint(plan: ImagePorts, shape: readonly (number | string | null)[] | null): string {
  if (shape === null || isPoolable(shape, plan) || !isPoolable(shape, { dim: plan.dim, pool: 'mean' }))
    return ''
  return plan.pool === null
    ? ': set image.pool to make one vector of it'
    : ': an output of cells has no class token, so image.pool must be mean'
}
