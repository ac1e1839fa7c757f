import { createRequire } from 'node:module'
import { cycleScenarios } from '../bench/scenarios.js'
import { worldCycles } from '../bench/world.js'
import { createNativeDecode } from '../dist/codec/native-decode.js'
const files = process.argv.slice(2)
const require = createRequire(import.meta.url)
const decoders = files.map((f) => createNativeDecode(require(f)))
for (const [name, { shape }] of Object.entries(cycleScenarios).slice(0, 3)) {
  const bodies: Uint8Array[] = []
  let n = 0
  for (const c of worldCycles(shape)) { if (n++ < 6) continue; if (n > 14) break
    const json = c.request
    const text = Buffer.from(typeof json === 'string' ? json : json instanceof Uint8Array ? json : JSON.stringify(json))
    const buffer = Buffer.alloc(text.length + 64); text.copy(buffer); bodies.push(buffer.subarray(0, text.length)) }
  const times = files.map(() => [] as number[])
  for (let i = 0; i < 340; i++) for (let d = 0; d < decoders.length; d++) {
    const k = (d + i) % decoders.length
    const body = bodies[i % bodies.length]!
    const t = performance.now()
    const r = decoders[k]!(body)
    const ms = performance.now() - t
    if (typeof r === 'number') throw new Error('code ' + r)
    ;(r as any).release?.()
    if (i >= 40) times[k]!.push(ms)
  }
  console.log(name, bodies[0]!.length, times.map((t, k) => { t.sort((a, b) => a - b); return `${files[k]} median ${t[150]!.toFixed(3)} p10 ${t[30]!.toFixed(3)}` }).join(' | '))
}
