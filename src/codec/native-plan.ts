/**
 * The plan of the native decoder: the contract's shapes (which members, what they may hold) joined with the layout of
 * their columns. Throws for a shape that native code does not support; the reference codec is used then.
 */
import {
  cycleShape,
  rowShape,
  type MemberShape,
  type ObjectShape,
  type ValueShape,
} from '../contract/index.js'
import {
  listLayouts,
  rootLayout,
  type ColumnPlace,
  type ListName,
  type MemberLayout,
  type ObjectLayout,
  type ValueKind,
} from './native-layout.js'

/** A column of the plan; its index is its position in `NativePlan.columns`. */
export interface PlanColumn extends ColumnPlace {
  /** Position of the object in the plan: 0 is the body, then the lists. */
  readonly object: number
  /** The parts of `path`: a name, or a group and a name in it. */
  readonly names: readonly string[]
}

export interface NativePlan {
  /** The plan as native/plan.h reads it. */
  readonly json: string
  readonly columns: readonly PlanColumn[]
  /** Lists in the order of the plan's objects 1, 2, … */
  readonly lists: readonly ListName[]
  /** Members of the body in the order of the plan. */
  readonly rootMembers: readonly string[]
  /** Most rows of each object; Infinity without a cap. */
  readonly rowCountsMax: readonly number[]
}

/** Makes the plan of a cycle body. */
export function cyclePlan(): NativePlan {
  const lists = Object.keys(listLayouts) as ListName[]
  const columns: PlanColumn[] = []
  const rowCountsMax = [1, ...lists.map((list) => listCountMax(list))]
  const objects = [
    planObject(cycleShape, rootLayout, 0, columns, lists),
    ...lists.map((list, index) =>
      planObject(rowShape(cycleShape, list), listLayouts[list], index + 1, columns, lists),
    ),
  ].map((object, index) => ({
    ...object,
    row_count_max: Math.min(rowCountsMax[index] as number, 0xffffffff),
  }))
  return {
    json: JSON.stringify({ column_count: columns.length, objects }),
    columns,
    lists,
    rootMembers: cycleShape.members.map((member) => member.name),
    rowCountsMax,
  }
}

function listCountMax(list: ListName): number {
  const value = cycleShape.members.find((member) => member.name === list)?.value
  if (value?.kind !== 'array') throw new Error(`${list} is no list`)
  return value.countMax
}

function planObject(
  shape: ObjectShape,
  layout: ObjectLayout,
  object: number,
  columns: PlanColumn[],
  lists: readonly ListName[],
): object {
  const place = (places: readonly ColumnPlace[]): number[] =>
    places.map((column) => columns.push({ ...column, object, names: column.path.split('.') }) - 1)
  return {
    slice: place(layout.slice),
    members: shape.members.map((member) => {
      const memberLayout = layout.members[member.name]
      if (memberLayout === undefined) throw new Error(`no columns for the member ${member.name}`)
      return {
        name: member.name,
        required: member.required,
        ...valueRules(member, memberLayout, lists),
        ...condition(member, shape),
        columns: place(memberLayout.columns),
      }
    }),
  }
}

/** The rules of a value, as native/plan.h names them. */
function valueRules(
  { name, value }: MemberShape,
  { kind, html }: MemberLayout,
  lists: readonly ListName[],
): object {
  if (!shapeKinds[kind].includes(value.kind)) throw new Error(`${name} is no ${kind}`)
  const rules = { kind, nullable: value.nullable }
  switch (value.kind) {
    case 'string':
      if (value.charsMin > 0 !== (kind === 'key') || value.charsMin > 1)
        throw new Error(`${name} has another length`)
      return {
        ...rules,
        html: html ?? false,
        ...(kind === 'fixed_text' ? { pattern: fixedForm(value.pattern) } : {}),
      }
    case 'integer':
      return { ...rules, minimum: value.minimum, maximum: value.maximum }
    case 'enum':
      return { ...rules, values: value.values }
    case 'array':
      if (kind === 'rows') return { ...rules, rows: lists.indexOf(name as ListName) + 1 }
      return { ...rules, unique: value.unique, ...itemRange(name, value.items, value.countMax) }
    default:
      return rules
  }
}

/** The kinds of shapes in the contract that native code reads as each kind of value. */
const shapeKinds: Readonly<Record<ValueKind, readonly ValueShape['kind'][]>> = {
  ignored_text: ['string'],
  fixed_text: ['string'],
  key: ['string'],
  measured_text: ['string'],
  date_time: ['date-time'],
  integer: ['integer'],
  integer_list: ['array'],
  enum_text: ['enum'],
  enum_number: ['enum'],
  rows: ['array'],
}

function itemRange(name: string, items: ValueShape, countMax: number): object {
  if (items.kind !== 'integer' || items.nullable || countMax !== Infinity)
    throw new Error(`${name} has other items`)
  return { minimum: items.minimum, maximum: items.maximum }
}

/** `^\d{8}T\d{4}$` as `00000000T0000`: a text of fixed length, 0 for any digit. */
function fixedForm(pattern = ''): string {
  const match = /^\^((?:\\d(?:\{\d+\})?|[A-Za-z])+)\$$/.exec(pattern)
  if (match === null) throw new Error(`not a pattern of fixed length: ${pattern}`)
  return (match[1] as string).replace(/\\d(?:\{(\d+)\})?/g, (_, count: string | undefined) =>
    '0'.repeat(Number(count ?? 1)),
  )
}

function condition({ requiredWhen }: MemberShape, shape: ObjectShape): object {
  if (requiredWhen === undefined) return {}
  const member = shape.members.findIndex((other) => other.name === requiredWhen.member)
  const value = shape.members[member]?.value
  if (value?.kind !== 'enum') throw new Error(`${requiredWhen.member} is no enum`)
  return { required_when: { member, code: value.values.indexOf(requiredWhen.value) } }
}
