/**
 * Inputs and outputs as an ONNX file declares them, and what the rules of all roles ask of them. ONNX Runtime holds a
 * batch to the sizes that an input declares. Those of an output are a hint to it, and exporters leave the 1 of their
 * trace there: of outputs the rules ask rank and width, and the first batch tells the rest.
 */
import type { OnnxFile, OnnxPort } from '../onnx-file/index.js'

export type Ports = Pick<OnnxFile, 'inputs' | 'outputs'>
type Size = number | string | null | undefined

/** The newest files that the pinned ONNX Runtime takes: a test tries them and the next ones. */
export const irVersionMax = 13
/** Of other domains it tells by itself. */
export const opsetsMax: ReadonlyMap<string, number> = new Map([
  ['ai.onnx', 26],
  ['ai.onnx.ml', 5],
])

/** What is wrong with a file whatever its role: it is too new, or is not all. */
export function fileProblems({
  irVersion,
  opsets,
  externalFiles,
}: Pick<OnnxFile, 'irVersion' | 'opsets' | 'externalFiles'>): string[] {
  const tooNew = opsets.filter(({ domain, version }) => version > (opsetsMax.get(domain) ?? Infinity))
  return [
    ...(irVersion <= irVersionMax
      ? []
      : [
          `it has IR version ${irVersion}, and ONNX Runtime takes at most ${irVersionMax} here: ` +
            'export it with an older version of onnx, or for a lower one',
        ]),
    ...tooNew.map(
      ({ domain, version }) =>
        `it needs opset ${version} of ${domain}, and ONNX Runtime takes at most ${opsetsMax.get(domain)} here: ` +
        'export it for a lower one',
    ),
    // What runs it is given bytes and no directory.
    ...(externalFiles.length === 0
      ? []
      : [
          `its weights lie in ${externalFiles.join(', ')}, and a graph must be one file: ` +
            'save it without external data',
        ]),
  ]
}

export function portNamed(ports: readonly OnnxPort[], name: string): OnnxPort | undefined {
  return ports.find((port) => port.name === name)
}

export function missingInput({ inputs }: Ports, name: string): string {
  return `there is no input ${name}, but ${namesOf(inputs)}`
}

/** `purpose`: what the output is for, such as ` for p_up`. */
export function missingOutput({ outputs }: Ports, name: string, purpose = ''): string {
  return `there is no output ${name}${purpose}, but ${namesOf(outputs)}`
}

/** Inputs that nobody would feed. */
export function strayInputs({ inputs }: Ports, known: readonly string[]): string[] {
  return inputs
    .filter(({ name }) => !known.includes(name))
    .map(({ name }) => `the manifest does not know the graph's input ${name}`)
}

/** Of any size that a batch may have. */
export function isFree(size: Size): boolean {
  return typeof size !== 'number'
}

/** A size that a batch may have, or `wanted`. */
export function allows(size: Size, wanted: number): boolean {
  return isFree(size) || size === wanted
}

function namesOf(ports: readonly OnnxPort[]): string {
  return ports.map(({ name }) => name).join(', ') || 'none'
}
