/**
 * The plans of a package, pictures for its encoders, and the resources of their processes.
 */
import { readFileSync } from 'node:fs'
import sharp from 'sharp'
import { silentLog } from '../src/base/index.js'
import type * as Packages from '../src/model/package/read-package.js'
import type * as Plans from '../src/model/sessions/plans.js'
import { builtModule } from './project.js'

/** What the processes of a version open, with one execution provider. */
export async function plansOf(
  modelsDir: string,
  version: string,
  provider: string,
): Promise<ReturnType<typeof Plans.planModel>> {
  const { readPackage } = await builtModule<typeof Packages>('model/package/read-package.js')
  const { planModel } = await builtModule<typeof Plans>('model/sessions/plans.js')
  const executionProviders = [provider]
  return planModel(await readPackage(modelsDir, version), { executionProviders, log: silentLog })
}

/** Smooth colours, different for each number. */
export async function picture(number: number, edge: number): Promise<Buffer> {
  const pixels = Buffer.alloc(16 * 12 * 3, 0).map(
    (_, at) => (at * 37 + number * 101 + ((at * number) % 89)) % 256,
  )
  return sharp(pixels, { raw: { width: 16, height: 12, channels: 3 } })
    .resize(edge, (edge * 3) / 4, { kernel: 'cubic' })
    .jpeg({ quality: 90 })
    .toBuffer()
}

/** Peak of the resident memory of a process. Null if /proc does not report it. */
export function memoryMib(pid: number | null): number | null {
  try {
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
  } catch {
    return null
  }
}

/** CPU time of a process; NaN if /proc does not report it. */
export function cpuMsOf(pid: number | null): number {
  try {
    const fields =
      readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
        .split(') ')
        .at(-1)
        ?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return NaN
  }
}
