/**
 * Plans of heads for tests: small graphs, written to a directory that is removed when the test ends, and a batch through them.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { silentLog } from '../../src/base/index.js'
import { headSettings } from '../../src/model/package/settings.js'
import type { HeadColumn, MatrixName } from '../../src/model/sessions/head-ports.js'
import { openHeadsProgram } from '../../src/model/sessions/heads-program.js'
import type { HeadGraphPlan, HeadsPlan } from '../../src/model/sessions/plans.js'

export interface GraphParts extends Partial<HeadGraphPlan> {
  readonly graph: Uint8Array
}

/** A head as a manifest describes it: column `number` of `output`, or null for its only one; `changes` are further members. */
export function column(
  head: HeadColumn['head'],
  output: string,
  number: number | null = 0,
  changes: Partial<Omit<HeadColumn, 'head' | 'output' | 'column'>> = {},
): HeadColumn {
  const { name, ...settings } = headSettings({ name: output })
  return { head, output: name, ...settings, column: number, ...changes }
}

/** Heads of these graphs, each p_views of `probs` from `features` [N, 1] by default. */
export function plannedHeads(parts: readonly GraphParts[]): HeadsPlan {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-heads-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const graphs = parts.map(({ graph, ...changes }, index): HeadGraphPlan => {
    const file = join(directory, `head${index}.onnx`)
    writeFileSync(file, graph)
    return {
      file,
      sha256: createHash('sha256').update(graph).digest('hex'),
      providers: ['cpu'],
      intraOpThreads: 1,
      inputs: { features: 'features' },
      heads: [column('p_views', 'probs')],
      ...changes,
    }
  })
  return {
    role: 'heads',
    graphs,
    widths: { features: 1, text: 0, image: 0, gallery_index: 0 },
    heads: graphs.flatMap((graph) => graph.heads.map(({ head }) => head)),
  }
}

/** The heads of one batch, in the order of the plan. */
export async function predict(
  plan: HeadsPlan,
  count: number,
  values: { readonly [Matrix in MatrixName]?: readonly number[] },
): Promise<readonly Float32Array[]> {
  const program = await openHeadsProgram(plan, silentLog)
  const matrix = (name: MatrixName, columnCount: number): Float32Array => {
    const numbers = new Float32Array(count * columnCount)
    numbers.set(values[name] ?? [])
    return numbers
  }
  const matrices = {
    features: matrix('features', plan.widths.features),
    text: matrix('text', plan.widths.text),
    image: matrix('image', plan.widths.image),
    gallery_index: matrix('gallery_index', plan.widths.gallery_index),
  }
  const { heads, failure } = await program.run({ count, matrices })
  expect(failure).toBeNull()
  return heads
}

export function expectClose(heads: readonly Float32Array[], expected: readonly (readonly number[])[]): void {
  expect(heads.map((values) => values.length)).toEqual(expected.map((values) => values.length))
  heads.forEach((values, head) =>
    values.forEach((value, row) => expect(value).toBeCloseTo(expected[head]?.[row] ?? NaN, 5)),
  )
}
