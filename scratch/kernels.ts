type K = (to: Float64Array, a: Float64Array, b: Float64Array, n: number) => void
const roundShift = 6755399441055744
const double = new Float64Array(1), words = new Uint32Array(double.buffer)
function log(x: number): number {
  const size = Math.abs(x)
  if (!(size < Infinity)) return x
  double[0] = 1 + size
  const shifted = words[1]! + (0x3ff00000 - 0x3fe6a09e)
  const exponent = (shifted >>> 20) - 1023
  words[1] = (shifted & 0xfffff) + 0x3fe6a09e
  const f = exponent === 0 ? size : double[0]! - 1
  const s = f / (2 + f), z = s * s
  let r = 1 / 11
  r = r * z + 1 / 9; r = r * z + 1 / 7; r = r * z + 1 / 5; r = r * z + 1 / 3; r = r * z + 1
  const result = exponent * Math.LN2 + (s + s) * r
  return x < 0 ? -result : result
}
function sine(x: number): number {
  const turn = x - (x + roundShift - roundShift)
  const size = Math.abs(turn)
  const quarter = size > 0.25 ? 0.5 - size : size
  const angle = quarter * (2 * Math.PI), z = angle * angle
  let s = -1 / 1307674368000
  s = s * z + 1 / 6227020800; s = s * z - 1 / 39916800; s = s * z + 1 / 362880; s = s * z - 1 / 5040; s = s * z + 1 / 120; s = s * z - 1 / 6; s = s * z + 1
  const result = angle * s
  return turn < 0 ? -result : result
}
const kernels: Record<string, K> = {
  add(t, a, b, n) { for (let i = 0; i < n; i++) t[i] = a[i]! + b[i]! },
  subtract(t, a, b, n) { for (let i = 0; i < n; i++) t[i] = a[i]! - b[i]! },
  multiply(t, a, b, n) { for (let i = 0; i < n; i++) t[i] = a[i]! * b[i]! },
  divide(t, a, b, n) { for (let i = 0; i < n; i++) t[i] = a[i]! / b[i]! },
  atLeast(t, a, b, n) { for (let i = 0; i < n; i++) { const x = a[i]!, y = b[i]!; t[i] = y > x ? y : x } },
  atMost(t, a, b, n) { for (let i = 0; i < n; i++) { const x = a[i]!, y = b[i]!; t[i] = y < x ? y : x } },
  greater(t, a, b, n) { for (let i = 0; i < n; i++) t[i] = a[i]! > b[i]! ? 1 : 0 },
  equal(t, a, b, n) { for (let i = 0; i < n; i++) t[i] = a[i]! === b[i]! ? 1 : 0 },
  orElse(t, a, b, n) { for (let i = 0; i < n; i++) { const x = a[i]!; t[i] = x !== x ? b[i]! : x } },
  where(t, a, b, n) { for (let i = 0; i < n; i++) t[i] = b[i]! > 0 ? a[i]! : NaN },
  round(t, a, _b, n) { for (let i = 0; i < n; i++) t[i] = a[i]! + roundShift - roundShift },
  log(t, a, _b, n) { for (let i = 0; i < n; i++) t[i] = log(a[i]!) },
  sine(t, a, _b, n) { for (let i = 0; i < n; i++) t[i] = sine(a[i]!) },
}
function loadF64(to: Float64Array, c: Float64Array, index: Uint32Array, first: number, n: number) { for (let i = 0; i < n; i++) to[i] = c[index[first + i]!]! }
function loadU32(to: Float64Array, c: Uint32Array, index: Uint32Array, first: number, n: number) { for (let i = 0; i < n; i++) to[i] = c[index[first + i]!]! }
function loadU8(to: Float64Array, c: Uint8Array, index: Uint32Array, first: number, n: number) { for (let i = 0; i < n; i++) to[i] = c[index[first + i]!]! }
function store(m: Float32Array, v: Float64Array, missing: number, at: number, stride: number, n: number) { for (let i = 0; i < n; i++, at += stride) { const x = v[i]!; m[at] = x !== x ? missing : x } }
const ops = ['load','store','add','subtract','multiply','divide','atLeast','atMost','greater','equal','orElse','where','round','log','sine']
export function kernelRun(p: any, block = 512) {
  const regs = Array.from({ length: p.registerCount }, () => new Float64Array(block)) as Float64Array[]
  p.constants.forEach((v: number, i: number) => regs[i]!.fill(v))
  const stride = p.outputs.length
  const counts: any = {}
  for (let at = 0; at < p.code.length; at += 4) counts[ops[p.code[at]]!] = (counts[ops[p.code[at]]!] ?? 0) + 1

  return (inp: any, matrix: Float32Array) => {
    inp.parameters.forEach((v: number, i: number) => regs[p.constants.length + i]!.fill(v))
    for (let first = 0; first < inp.rowCount; first += block) {
      const n = Math.min(block, inp.rowCount - first)
      for (let at = 0; at < p.code.length; at += 4) {
        const op = p.code[at], a = p.code[at + 2], b = p.code[at + 3]
        if (op === 1) { for (let o = a; o < a + b; o++) store(matrix, regs[p.outputs[o]]!, p.missing[o], first * stride + o, stride, n) }
        else if (op === 0) { const to = regs[p.code[at + 1]]!, c = inp.columns[a], ix = inp.indexes[p.columnIndexes[a]]
          if (c instanceof Float64Array) loadF64(to, c, ix, first, n); else if (c instanceof Uint32Array) loadU32(to, c, ix, first, n); else loadU8(to, c, ix, first, n) }
        else kernels[ops[op]!]!(regs[p.code[at + 1]]!, regs[a]!, regs[b]!, n)
      }
    }
  }
}
