/**
 * Names the format of a file that was delivered in place of a model.
 */

/** Beginnings of files, in Latin-1. */
const knownBeginnings: readonly (readonly [beginning: RegExp, what: string])[] = [
  [/^$/, 'it is empty'],
  [/^(\xef\xbb\xbf)?\s*<[a-z!?]/i, 'it is an HTML page, perhaps the login or error page of a download'],
  [/^version https:\/\/git-lfs/, 'it is a Git LFS pointer: run `git lfs pull`'],
  [/^\s*[{[]/, 'it looks like JSON'],
  [/^PK/, 'it is a ZIP archive, as PyTorch writes: export the model to ONNX'],
  [/^\x80/, 'it is a Python pickle: export the model to ONNX'],
  [/^\x89HDF/, 'it is an HDF5 file: export the model to ONNX'],
]
const beginningBytes = 64

/** A clause that names the format, or null if the file may be a model. `bytes`: the file or its beginning. */
export function foreignKind(bytes: Uint8Array): string | null {
  const beginning = Buffer.from(bytes.subarray(0, beginningBytes)).toString('latin1')
  return knownBeginnings.find(([pattern]) => pattern.test(beginning))?.[1] ?? null
}
