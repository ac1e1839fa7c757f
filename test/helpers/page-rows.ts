/**
 * Stands in for `src/page/parts/virtual-table.tsx` while a view is rendered to a string: all columns and all rows, as a plain
 * table. Tests in a browser cover what is visible of it when.
 */

/** `h` of Preact, whose types are those of a browser. */
type CreateElement = (type: string, props: null, ...children: never[]) => unknown

interface RowsProps {
  readonly caption: string
  readonly columns: readonly { readonly title: string; readonly cell: (row: unknown) => unknown }[]
  readonly count: number
  readonly at: (index: number) => unknown
}

export function plainRows(h: CreateElement): Record<string, unknown> {
  const element = (type: string, children: unknown): unknown => h(type, null, children as never)
  return {
    useIsBelow: () => false,
    VirtualTable: ({ caption, columns, count, at }: RowsProps) => {
      const head = columns.map(({ title }) => element('th', title))
      const rows = Array.from({ length: count }, (_, index) => at(index)).map((row) =>
        columns.map(({ cell }) => element('td', row === undefined ? 'pending' : cell(row))),
      )
      return element('table', [
        element('caption', caption),
        element('tr', head),
        ...rows.map((cells) => element('tr', cells)),
      ])
    },
  }
}
