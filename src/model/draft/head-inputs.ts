/**
 * The inputs of a graph of heads: which one is the matrix of features, and which ones are vectors or the index of a gallery, by name
 * and by width.
 */
import type { MatrixName } from '../sessions/head-ports.js'
import type { Port } from '../sessions/ports.js'
import { guess, read, type Findings } from './findings.js'

const names: Readonly<Record<MatrixName, RegExp>> = {
  text: /text|title|sentence|token|bert/i,
  image: /image|img|picture|photo|visual|vision|pixel/i,
  features: /feature|tabular|numeric|^x$|^input$|float_input|variable/i,
  gallery_index: /^gall(ery|eries)?([_-]?(id|idx|index|code|number|no))?$/i,
}

/** Dimensions of the encoders; 0: there is no such encoder. */
export type EncoderDims = Readonly<Record<'text' | 'image', number>>

/** The input for each matrix; a list: one for each feature, in the order of the graph until the features are known. */
export interface DraftedInputs {
  features?: string | string[]
  text?: string
  image?: string
  gallery_index?: string
}

/** null: an input has no meaning here; the findings state it. */
export function draftInputs(
  ports: readonly Port[],
  dims: EncoderDims,
  member: string,
  findings: Findings,
): DraftedInputs | null {
  const inputs: DraftedInputs = {}
  const open = new Set(ports)
  const assign = (matrix: MatrixName, port: Port, isGuess: boolean, reason: string): void => {
    inputs[matrix] = findings.take(`${member}.inputs.${matrix}`, (isGuess ? guess : read)(port.name, reason))
    open.delete(port)
  }
  const isColumn = ({ shape }: Port): boolean => shape?.length === 1 || shape?.[1] === 1
  const gallery = ports.find((port) => isColumn(port) && names.gallery_index.test(port.name))
  if (gallery !== undefined)
    assign('gallery_index', gallery, gallery.name !== 'gallery_index', 'the name of the input')
  const columns = [...open].filter(isColumn)
  if (columns.length > 1 && open.size - columns.length <= 2) {
    inputs.features = columns.map(({ name }) => name)
    for (const port of columns) open.delete(port)
  }
  for (const matrix of ['text', 'image'] as const) {
    if (dims[matrix] === 0) continue
    const fitting = [...open].filter(
      ({ shape }) => typeof shape?.[1] !== 'number' || shape[1] === dims[matrix],
    )
    const named = fitting.find(({ name }) => names[matrix].test(name))
    if (named !== undefined) assign(matrix, named, named.name !== matrix, 'the name of the input')
  }
  for (const matrix of ['text', 'image'] as const) {
    if (dims[matrix] === 0 || inputs[matrix] !== undefined) continue
    const sized = [...open].filter(
      ({ shape, name }) => shape?.[1] === dims[matrix] && !names.features.test(name),
    )
    if (sized[0] !== undefined && (open.size > 1 || sized.length === 1))
      assign(matrix, sized[0], true, `its ${dims[matrix]} columns are those of the ${matrix} encoder`)
  }
  const [rest] = open
  if (rest !== undefined && inputs.features === undefined)
    assign('features', rest, false, ports.length === 1 ? 'the only input' : 'the other input')
  const unassigned = [...open]
  if (unassigned.length === 0) return inputs
  findings.need(
    `${member}.inputs`,
    `nothing here has values for ${unassigned.map(({ name }) => name).join(', ')}: a head reads features, the vector of a text encoder, that ` +
      'of an image encoder, and a gallery_index, an input each, and the graphs of these encoders belong into the package. If they are parts of the features, list them in inputs.features in the order of ' +
      'the features',
  )
  return null
}
