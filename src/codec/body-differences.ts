/**
 * Where two JSON texts have different values (docs/contract.md, POST /v1/cycles): member order, white space and the spelling
 * of numbers and strings do not matter; array order does, and so does every unknown member. Numbers are doubles.
 */
import { clipText, isObject } from '../base/index.js'
import { pathText, type FieldProblem } from '../contract/index.js'
import { asBuffer } from './body-buffer.js'

/** The first differences are enough to find the cause. */
const differenceCountMax = 20
/** Limits for a path in a message, whose unknown names can have any length, and for a text. */
const pathCharsMax = 200
const textCharsMax = 40

/**
 * The first differences of two bodies that both parse, such as `engagement[3].views: was 900, is 901`. Empty if the
 * bodies have the same value.
 */
export function bodyDifferences(was: Uint8Array, is: Uint8Array): FieldProblem[] {
  return differencesOf(valueOf(was), valueOf(is))
}

function valueOf(body: Uint8Array): unknown {
  return JSON.parse(asBuffer(body).toString('utf8')) as unknown
}

/**
 * The differences, in the order of the new body, without recursion: a body may nest a thousand levels deep. Memory
 * is proportional to the depth.
 */
function differencesOf(was: unknown, is: unknown): FieldProblem[] {
  const differences: FieldProblem[] = []
  /** The path from the top of the body to the values that are compared. */
  const containers: ContainerPair[] = []
  const add = (problem: string): void => {
    const path = pathText(containers.map(({ names, next }) => (names === null ? next : names[next]) ?? ''))
    differences.push({ path: clipText(path, pathCharsMax), problem })
  }
  const compare = (a: unknown, b: unknown): void => {
    if (a === b) return
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) add(`had ${entries(a.length)}, has ${b.length}`)
      containers.push({ was: a, is: b, names: null, next: -1, count: Math.min(a.length, b.length) })
    } else if (isObject(a) && isObject(b)) {
      const names = Object.keys(b)
      for (const name of Object.keys(a)) if (!Object.hasOwn(b, name)) names.push(name)
      containers.push({ was: a, is: b, names, next: -1, count: names.length })
    } else add(`was ${textOf(a)}, is ${textOf(b)}`)
  }
  compare(was, is)
  for (let pair = containers.at(-1); pair !== undefined; pair = containers.at(-1)) {
    if (differences.length === differenceCountMax) break
    pair.next++
    if (pair.next === pair.count) containers.pop()
    else compare(childOf(pair.was, pair), childOf(pair.is, pair))
  }
  return differences
}

/** Two lists or two objects whose entries are being compared: `next` is the index of the current one. */
interface ContainerPair {
  readonly was: Container
  readonly is: Container
  /** Names of the members of an object; null for a list. */
  readonly names: readonly string[] | null
  next: number
  readonly count: number
}

type Container = readonly unknown[] | Readonly<Record<string, unknown>>

/** undefined if an object lacks the member. */
function childOf(container: Container, { names, next }: ContainerPair): unknown {
  const key = names === null ? next : names[next]!
  return Object.hasOwn(container, key) ? (container as Record<string | number, unknown>)[key] : undefined
}

function textOf(value: unknown): string {
  if (value === undefined) return 'absent'
  if (typeof value === 'string') return JSON.stringify(clipText(value, textCharsMax))
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

function entries(count: number): string {
  return `${count} ${count === 1 ? 'entry' : 'entries'}`
}
