/**
 * Inputs and outputs of the graphs against the manifest, as the files themselves declare them: names, element types,
 * ranks and widths; and their versions. No session is needed, so a wrong export is told in the words of the manifest.
 */
import { readFile } from 'node:fs/promises'
import { fileProblems, headPortProblems, imagePortProblems, textPortProblems } from '../graph-ports/index.js'
import { headGraphs, type Manifest, type ModelPackage } from '../package/index.js'
import { portText, readOnnx, type OnnxFile, type OnnxPort } from '../onnx-file/index.js'
import { planHeadPorts, planHeadWidths, planImagePorts, planTextPorts } from '../plans.js'
import { attempt, fail, pass, type CheckLine } from './report.js'

/** One line a graph. */
export async function checkGraphs({ manifest, files }: ModelPackage): Promise<CheckLine[]> {
  const graphs = files.filter(({ place }) => /^(head(\[\d\])?|text|image)$/.test(place))
  const lines: CheckLine[] = []
  for (const { place, file: name, path } of graphs) {
    lines.push(
      await attempt(`graph ${place}`, async () => {
        const file = readOnnx(await readFile(path), path)
        const problems = [...fileProblems(file), ...portProblems(manifest, place, file)]
        const check = `graph ${place}`
        return problems.length === 0
          ? pass(check, summary(file))
          : fail(check, `${name}: ${problems.join('; ')}.`)
      }),
    )
  }
  return lines
}

/** What is wrong with a graph's ports, in its place of the manifest. */
export function portProblems(manifest: Manifest, place: string, file: OnnxFile): string[] {
  const { text, image } = manifest
  if (place === 'text') return text === undefined ? [] : textPortProblems(file, planTextPorts(text))
  if (place === 'image') return image === undefined ? [] : imagePortProblems(file, planImagePorts(image))
  const graph = headGraphs(manifest)[place === 'head' ? 0 : Number(place.slice('head['.length, -1))]
  return graph === undefined ? [] : headPortProblems(file, planHeadPorts(graph), planHeadWidths(manifest))
}

function summary({ inputs, outputs, opsets }: OnnxFile): string {
  const ports = (list: readonly OnnxPort[]): string =>
    list.map((port) => `${port.name} ${portText(port)}`).join(', ')
  const versions = opsets.map(({ domain, version }) => `${domain} ${version}`).join(', ')
  return `From ${ports(inputs)} to ${ports(outputs)}; ${versions}.`
}
