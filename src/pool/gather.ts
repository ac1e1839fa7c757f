/**
 * New columns from rows of two older ones. One list of sources serves all columns of a group:
 *
 *   slot       0    1    2    3          a pool of four posts, of which the first leaves while another enters
 *   source     1    2    3   -2          rows 1 to 3 of the first column, then row 0 of the second
 */

/** Source of a row that has no value: NaN in a column of doubles, 0 in one of integers. */
export const noSource = -1

/** The source that stands for a row of the second column. The row of a source below -1 is `secondRow(source)` too. */
export function secondRow(row: number): number {
  return -2 - row
}

// One function for each type of array: a loop that sees several types runs several times slower.
export function gatherFloat64(sources: Int32Array, first: Float64Array, second: Float64Array): Float64Array {
  const column = new Float64Array(sources.length)
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i] as number
    if (source >= 0) column[i] = first[source] as number
    else column[i] = source === noSource ? NaN : (second[secondRow(source)] as number)
  }
  return column
}

export function gatherUint32(sources: Int32Array, first: Uint32Array, second: Uint32Array): Uint32Array {
  const column = new Uint32Array(sources.length)
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i] as number
    if (source >= 0) column[i] = first[source] as number
    else if (source !== noSource) column[i] = second[secondRow(source)] as number
  }
  return column
}

export function gatherUint8(sources: Int32Array, first: Uint8Array, second: Uint8Array): Uint8Array {
  const column = new Uint8Array(sources.length)
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i] as number
    if (source >= 0) column[i] = first[source] as number
    else if (source !== noSource) column[i] = second[secondRow(source)] as number
  }
  return column
}
