/**
 * Inputs and outputs of the graphs against the manifest, as the files themselves declare them: names, element types,
 * ranks and widths. No session is needed, so a wrong export is told in the words of the manifest.
 */
import { readFile } from 'node:fs/promises'
import { headNames } from '../../contract/index.js'
import { headGraphs } from '../manifest-file.js'
import type { HeadManifest, ImageManifest, Manifest, TextManifest } from '../manifest.js'
import { portText, readOnnx, type OnnxFile, type OnnxPort } from '../onnx-file/index.js'
import type { ModelPackage } from '../package.js'
import { attempt, fail, pass, type CheckLine } from './report.js'

/** One line a graph. */
export async function checkGraphs({ manifest, files }: ModelPackage): Promise<CheckLine[]> {
  const graphs = files.filter(({ place }) => /^(head(\[\d\])?|text|image)$/.test(place))
  const lines: CheckLine[] = []
  for (const { place, path } of graphs) {
    lines.push(
      await attempt(`graph ${place}`, async () => {
        const file = readOnnx(await readFile(path), path)
        const problems = [...wholeness(file), ...portProblems(manifest, place, file)]
        const check = `graph ${place}`
        return problems.length === 0 ? pass(check, summary(file)) : fail(check, `${problems.join('; ')}.`)
      }),
    )
  }
  return lines
}

/** What is wrong with a graph's ports, in its place of the manifest. */
export function portProblems(manifest: Manifest, place: string, file: OnnxFile): string[] {
  const { text, image } = manifest
  if (place === 'text') return text === undefined ? [] : textProblems(text, file)
  if (place === 'image') return image === undefined ? [] : imageProblems(image, file)
  const graphs = headGraphs(manifest)
  const graph = graphs[place === 'head' ? 0 : Number(place.slice('head['.length, -1))]
  return graph === undefined ? [] : headProblems(graph, manifest, file)
}

function summary({ inputs, outputs, opsets }: OnnxFile): string {
  const ports = (list: readonly OnnxPort[]): string =>
    list.map((port) => `${port.name} ${portText(port)}`).join(', ')
  const versions = opsets.map(({ domain, version }) => `${domain} ${version}`).join(', ')
  return `From ${ports(inputs)} to ${ports(outputs)}; ${versions}.`
}

function wholeness({ externalFiles }: OnnxFile): string[] {
  if (externalFiles.length === 0) return []
  return [
    `its weights lie in ${externalFiles.join(', ')}, and a graph must be one file: ` +
      'save it without external data',
  ]
}

function headProblems({ inputs, outputs }: HeadManifest, manifest: Manifest, file: OnnxFile): string[] {
  const widths = { features: manifest.features.length, text: manifest.text?.dim, image: manifest.image?.dim }
  const named = (['features', 'text', 'image'] as const).flatMap((matrix) => {
    const [name, width] = [inputs[matrix], widths[matrix]]
    return name === undefined || width === undefined ? [] : [{ name, width }]
  })
  return [
    ...named.flatMap(({ name, width }) => matrixProblems(file, name, width)),
    ...strayInputs(
      file,
      named.map(({ name }) => name),
    ),
    ...headNames.flatMap((head) => {
      const output = outputs[head]
      return output === undefined ? [] : columnProblems(file, head, output.name, output.column)
    }),
  ]
}

function matrixProblems(file: OnnxFile, name: string, width: number): string[] {
  const port = file.inputs.find((input) => input.name === name)
  if (port === undefined) return [`there is no input ${name}, but ${names(file.inputs)}`]
  const [rows, columns] = port.shape ?? []
  const isRight =
    isFloat(port) &&
    (port.shape === null ||
      (port.shape.length === 2 &&
        typeof rows !== 'number' &&
        (typeof columns !== 'number' || columns === width)))
  return isRight ? [] : [`input ${name} must be float32 or float64 [N, ${width}], and is ${portText(port)}`]
}

function columnProblems(file: OnnxFile, head: string, name: string, column: number | undefined): string[] {
  const port = file.outputs.find((output) => output.name === name)
  if (port === undefined) return [`there is no output ${name} for ${head}, but ${names(file.outputs)}`]
  if (port.kind !== 'tensor') {
    return [`output ${name} is a ${port.kind} and must be a tensor; with skl2onnx, export with zipmap=False`]
  }
  const [rows, columns] = port.shape ?? []
  const rank = port.shape?.length
  if (!isFloat(port) || typeof rows === 'number' || (rank !== undefined && rank !== 1 && rank !== 2)) {
    return [`output ${name} must be float32 or float64, [N] or [N, columns], and is ${portText(port)}`]
  }
  const columnCount = rank === 1 ? 1 : columns
  if (typeof columnCount !== 'number') return []
  if (column === undefined && columnCount > 1)
    return [`output ${name} has ${columnCount} columns, and the manifest names none for ${head}`]
  return (column ?? 0) < columnCount
    ? []
    : [`output ${name} has no column ${column ?? 0} for ${head}: it is ${portText(port)}`]
}

function textProblems(text: TextManifest, file: OnnxFile): string[] {
  const {
    input_ids = 'input_ids',
    attention_mask = 'attention_mask',
    token_type_ids = 'token_type_ids',
  } = text.inputs ?? {}
  const needed = [input_ids, attention_mask]
  const wrong = file.inputs
    .filter(({ name }) => needed.includes(name) || name === token_type_ids)
    .filter(({ dtype, shape }) => dtype !== 'int64' || (shape?.length ?? 2) !== 2)
  const name = text.output ?? 'last_hidden_state'
  return [
    ...needed
      .filter((input) => !file.inputs.some((port) => port.name === input))
      .map((input) => `there is no input ${input}, but ${names(file.inputs)}`),
    ...wrong.map((port) => `input ${port.name} must be int64 [N, tokens], and is ${portText(port)}`),
    ...strayInputs(file, [...needed, token_type_ids]),
    ...vectorProblems(file, name, text.dim, [2, 3], 'last'),
  ]
}

function imageProblems(image: ImageManifest, file: OnnxFile): string[] {
  const port = file.inputs.find(({ name }) => name === image.input)
  const { width, height } = image.crop ?? ('width' in image.resize ? image.resize : { width: 0, height: 0 })
  const isNchw = (image.layout ?? 'nchw') === 'nchw'
  const wanted = isNchw ? [3, height, width] : [height, width, 3]
  const [rows, ...sizes] = port?.shape ?? []
  const isRight =
    port?.dtype === 'float32' &&
    (port.shape === null ||
      (port.shape.length === 4 &&
        typeof rows !== 'number' &&
        sizes.every((size, index) => typeof size !== 'number' || size === wanted[index])))
  const output = file.outputs.find(({ name }) => name === image.output)
  const rank = output?.shape?.length
  return [
    ...(port === undefined ? [`there is no input ${image.input}, but ${names(file.inputs)}`] : []),
    ...(port !== undefined && !isRight
      ? [`input ${image.input} must be float32 [N, ${wanted.join(', ')}], and is ${portText(port)}`]
      : []),
    ...strayInputs(file, [image.input]),
    ...vectorProblems(file, image.output, image.dim, [2, 3, 4], rank === 4 ? 'second' : 'last'),
    ...(rank !== undefined && rank > 2 && image.pool === undefined
      ? [`output ${image.output} has rank ${rank}, and the manifest does not say image.pool`]
      : []),
    ...(rank === 4 && image.pool === 'cls'
      ? [`output ${image.output} has rank 4, and cells have no first one: image.pool must be mean`]
      : []),
  ]
}

function vectorProblems(
  file: OnnxFile,
  name: string,
  dim: number,
  ranks: readonly number[],
  place: 'last' | 'second',
): string[] {
  const port = file.outputs.find((output) => output.name === name)
  if (port === undefined) return [`there is no output ${name}, but ${names(file.outputs)}`]
  const { shape } = port
  const width = place === 'last' ? shape?.at(-1) : shape?.[1]
  const isRight =
    port.dtype === 'float32' &&
    (shape === null || ranks.includes(shape.length)) &&
    (typeof width !== 'number' || width === dim)
  if (isRight) return []
  return [
    `output ${name} must be float32 of rank ${ranks.join(' or ')} and width ${dim}, and is ${portText(port)}`,
  ]
}

/** Inputs that nobody would feed. */
function strayInputs(file: OnnxFile, known: readonly string[]): string[] {
  return file.inputs
    .filter(({ name }) => !known.includes(name))
    .map(({ name }) => `the manifest does not know the graph's input ${name}`)
}

function isFloat({ kind, dtype }: OnnxPort): boolean {
  return kind === 'tensor' && (dtype === 'float32' || dtype === 'float64')
}

function names(ports: readonly OnnxPort[]): string {
  return ports.map(({ name }) => name).join(', ') || 'none'
}
