/** A function that remembers its last result: for what is asked again and again with the same argument, such as a time as text. */

/** `make`, called only if the argument differs from the last one. */
export function memoizeLast<Argument, Result>(make: (argument: Argument) => Result) {
  let last: { readonly argument: Argument; readonly result: Result } | null = null
  return (argument: Argument): Result => {
    if (last?.argument !== argument) last = { argument, result: make(argument) }
    return last.result
  }
}
