/**
 * Weights that a graph keeps in other files (external data). ONNX Runtime would read any path that a graph names; it is given the
 * bytes of the files that the manifest lists, under the names that the graph has for them.
 */
import { hash } from 'node:crypto'
import { dirname, join, posix } from 'node:path'
import { readBytes, readHashed } from '../package/read-file.js'
import type { DataPlan, GraphPlan } from './plans.js'

/** A file as ONNX Runtime takes it. */
export interface ExternalData {
  readonly path: string
  readonly data: Uint8Array
}

/** An entry of `external_data` in onnx.proto: key (field 1) `location`, and the tag of its value (field 2). */
const locationKey = Buffer.from('\x0a\x08location\x12', 'latin1')
/** No path is longer. A larger number is not a length, and those bytes are no entry. */
const pathBytesMax = 4096

/** Where a graph keeps weights, as it writes the paths, each once. */
export function externalLocations(graph: Uint8Array): string[] {
  const bytes = Buffer.from(graph.buffer, graph.byteOffset, graph.length)
  const paths = new Set<string>()
  for (let at = bytes.indexOf(locationKey); at >= 0; at = bytes.indexOf(locationKey, at + 1)) {
    const path = lengthDelimited(bytes, at + locationKey.length)
    if (path !== null) paths.add(path)
  }
  return [...paths]
}

/** Rejects with an Error if the manifest does not list the files that the graph names, and with a `ModelError` if one has another hash. */
export async function readExternalData(
  graph: Uint8Array,
  { file, externalData = [] }: GraphPlan,
): Promise<ExternalData[]> {
  const locations = externalLocations(graph).map((path) => ({ path, location: posix.normalize(path) }))
  const isListed = (location: string): boolean => externalData.some((data) => data.location === location)
  const unlisted = locations.filter(({ location }) => !isListed(location))
  if (unlisted.length > 0) throw new Error(`${file} ${unlistedProblem(unlisted)}`)
  const unused = externalData.filter(({ location }) => locations.every((one) => one.location !== location))
  if (unused.length > 0)
    throw new Error(
      `${file} keeps no weights in ${unused.map(({ location }) => location).join(', ')}: remove external_data`,
    )
  const read = new Map<string, Uint8Array>()
  for (const data of externalData)
    read.set(data.location, await readHashed(data.file, data.sha256, data.copy))
  return locations.map(({ path, location }) => ({
    // The binding for Node removes one `./` in front, and ONNX Runtime compares the rest with the path in the graph.
    path: path.startsWith('./') ? `./${path}` : path,
    data: read.get(location)!,
  }))
}

/**
 * The files in which a graph without a manifest keeps weights. Rejects with an Error for one that is not below the graph's
 * directory, before any is read, and with a `ModelError` if one cannot be read.
 */
export async function findExternalData(file: string, graph: Uint8Array): Promise<DataPlan[]> {
  const locations = externalLocations(graph).map((path) => ({ path, location: posix.normalize(path) }))
  const outside = locations.filter(leavesDirectory)
  if (outside.length > 0) throw new Error(`${file} ${unlistedProblem(outside)}`)
  return Promise.all(
    locations.map(async ({ location }) => {
      const data = join(dirname(file), location)
      return { file: data, sha256: hash('sha256', await readBytes(data)), location }
    }),
  )
}

interface Location {
  readonly path: string
  readonly location: string
}

function leavesDirectory({ location }: Location): boolean {
  return posix.isAbsolute(location) || location === '..' || location.startsWith('../')
}

function unlistedProblem(unlisted: readonly Location[]): string {
  const paths = unlisted.map(({ path }) => path).join(', ')
  const remedy = unlisted.some(leavesDirectory)
    ? 'save the graph with its weights in one file, or in a file beside it'
    : 'list it as external_data of this graph in the manifest, with its SHA-256, or save the graph as one file'
  return `keeps weights in another file (external data), ${paths}: ${remedy}`
}

/** A string of protobuf: its length as a varint, and its bytes. null: this is none. */
function lengthDelimited(bytes: Buffer, start: number): string | null {
  let length = 0
  let at = start
  for (let shift = 0; shift < 14; shift += 7) {
    const byte = bytes[at++] ?? 0
    length += (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  return length === 0 || length > pathBytesMax ? null : bytes.toString('utf8', at, at + length)
}
