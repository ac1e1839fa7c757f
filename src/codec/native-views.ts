/**
 * Typed arrays over an arena: the columns of an object as members of `CycleColumns`. An arena keeps those of its last
 * cycle: the next one mostly has as many rows, and eighty new arrays a cycle are work for the collector.
 */
import type { Arena } from './native-arena.js'
import type { ColumnType } from './native-layout.js'
import type { NativePlan } from './native-plan.js'

type View = Float64Array | Uint32Array | Uint8Array

/** Columns by name, some of them in groups such as `title`, and the number of their rows. */
export interface ColumnGroup {
  readonly [name: string]: View | ColumnGroup | number
}

/** Columns of one object: those of its own, and those in groups. */
interface ObjectViews {
  readonly columns: readonly { readonly name: string; readonly type: ColumnType; readonly index: number }[]
  readonly groups: readonly (readonly [string, ObjectViews])[]
}

export class ColumnViews {
  readonly #objects: readonly ObjectViews[]
  readonly #kept = new WeakMap<Arena, (ColumnGroup | undefined)[]>()

  constructor(plan: NativePlan) {
    this.#objects = plan.rowCountsMax.map((_, object) => {
      const own = plan.columns.flatMap((column, index) =>
        column.object === object ? [{ name: column.path, type: column.type, index }] : [],
      )
      return groupViews(own)
    })
  }

  /** The columns of an object of the plan with `count` rows; the same ones as before for the same count. */
  of(arena: Arena, object: number, count: number): ColumnGroup {
    let kept = this.#kept.get(arena)
    if (kept === undefined) {
      kept = this.#objects.map(() => undefined)
      this.#kept.set(arena, kept)
    }
    const last = kept[object]
    if (last?.['count'] === count) return last
    const columns = viewColumns(this.#objects[object] as ObjectViews, arena, count)
    kept[object] = columns
    return columns
  }
}

function groupViews(columns: ObjectViews['columns']): ObjectViews {
  const groups = new Map<string, { name: string; type: ColumnType; index: number }[]>()
  const plain: { name: string; type: ColumnType; index: number }[] = []
  for (const column of columns) {
    const point = column.name.indexOf('.')
    if (point < 0) plain.push(column)
    else {
      const group = column.name.slice(0, point)
      groups.set(group, [...(groups.get(group) ?? []), { ...column, name: column.name.slice(point + 1) }])
    }
  }
  return {
    columns: plain,
    groups: [...groups].map(([name, members]) => [name, groupViews(members)] as const),
  }
}

function viewColumns(views: ObjectViews, arena: Arena, count: number): ColumnGroup {
  const group: Record<string, View | ColumnGroup | number> = { count, ...viewGroup(views, arena, count) }
  for (const [name, members] of views.groups) group[name] = viewGroup(members, arena, count)
  return group
}

function viewGroup(views: ObjectViews, arena: Arena, count: number): ColumnGroup {
  const group: Record<string, View> = {}
  for (const { name, type, index } of views.columns) {
    const start = arena.starts[index] as number
    if (type === 'f64') group[name] = new Float64Array(arena.buffer, start, count)
    else if (type === 'u32') group[name] = new Uint32Array(arena.buffer, start, count)
    else group[name] = new Uint8Array(arena.buffer, start, count)
  }
  return group
}
