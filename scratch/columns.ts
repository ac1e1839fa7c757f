import { kernelRun } from './kernels.js'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { loadCodec, referenceCodec } from '../dist/codec/index.js'
import { catalogue, compileFeatures, findFeature } from '../dist/model/features/index.js'
const old = createRequire(import.meta.url)('/tmp/codec-old/old.node')
const new6 = createRequire(import.meta.url)('/tmp/new6.node')
const codecs: any = {
  plain: { columnProgram: (p: any) => { const n = new new6.ColumnProgram(p); return (i: any, m: any) => n.run(i, m) } },
  native: { columnProgram: (p: any) => { const n = new old.ColumnProgram(p); return (i: any, m: any) => n.run(i, m) } },
  reference: referenceCodec,
  kernels: { columnProgram: (p: any) => kernelRun(p) },
}
import { ordinaryInputs } from './inputs.js'
for (const model of ['example-1', 'transport-test-1', 'all']) {
  const features = model === 'all' ? [...catalogue] : (JSON.parse(readFileSync(`models/${model}/manifest.json`, 'utf8')).features as any[]).map((f) => findFeature(typeof f === 'string' ? f : f.name)!)
  for (const rows of [600, 5000]) {
    const input = ordinaryInputs(rows, 3)
    const out = features.length
    const names = Object.keys(codecs)
    const fills = names.map((n) => compileFeatures(features, { codec: codecs[n] }))
    const mats = names.map(() => new Float32Array(rows * out))
    const times = names.map(() => [] as number[])
    for (let i = 0; i < 400; i++) names.forEach((_, k) => { const t = performance.now(); fills[k]!(input, mats[k]!); const ms = performance.now() - t; if (i >= 100) times[k]!.push(ms) })
    const same = Buffer.compare(Buffer.from(mats[0]!.buffer), Buffer.from(mats[1]!.buffer)) === 0 && Buffer.compare(Buffer.from(mats[0]!.buffer), Buffer.from(mats[2]!.buffer)) === 0
    console.log(model, features.length, rows, same, names.map((n, k) => { const t = times[k]!.sort((a, b) => a - b); return `${n} ${t[150]!.toFixed(3)} p10 ${t[30]!.toFixed(3)}` }).join(' | '))
  }
}
