/**
 * The heads of a model with encoders, as a cycle runs them: one batch of all pending posts, with the vectors of their texts and images.
 */
import { silentLog } from '../src/base/index.js'
import type * as Hosts from '../src/model/sessions/session-host.js'
import { openBareHeads } from './bare-encoders.js'
import { plansOf } from './encoder-inputs.js'
import type { Contest } from './encoders.js'
import { builtModule } from './project.js'

const batchCount = 20
const timeLimitMs = 60_000
const bytesMax = 16 * 2 ** 30

export async function openHeadsContest(
  modelsDir: string,
  version: string,
  { provider, count }: { readonly provider: string; readonly count: number },
): Promise<Contest> {
  const { openHeadsHost } = await builtModule<typeof Hosts>('model/sessions/session-host.js')
  const { heads } = await plansOf(modelsDir, version, provider)
  const valuesOf = (width: number): Float32Array =>
    Float32Array.from({ length: count * width }, (_, at) => ((at * 7919) % 97) / 97)
  const { features, text, image } = heads.widths
  const inputs = { features: valuesOf(features), text: valuesOf(text), image: valuesOf(image) }
  const host = await openHeadsHost(heads, { bytesMax, log: silentLog, warmUpMsMax: timeLimitMs })
  return {
    name: `heads, batches of ${count} rows`,
    itemCount: batchCount,
    perDay: null,
    host,
    async round() {
      for (let index = 0; index < batchCount; index++)
        await host.run(
          {
            count,
            fill(matrices) {
              matrices.features.set(inputs.features)
              matrices.text.set(inputs.text)
              matrices.image.set(inputs.image)
            },
          },
          timeLimitMs,
        )
    },
    bare: await openBareHeads(heads, { ...inputs, count }, batchCount),
  }
}
