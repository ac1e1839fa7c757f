/**
 * The heads in a child process: batches lie in the memory that it shares with its owner, and are answered there.
 */
import { batchBytes, matrixBytes, viewBatch } from './head-memory.js'
import { openHeadsProgram } from './heads-program.js'
import type { Program } from './program.js'
import type { HeadsPlan, HeadsRequest, Unavailable } from './protocol.js'
import { SharedMemory } from './shared-memory.js'

/** `memory`: the descriptor of the memory, which the owner has made. */
export async function openSharedHeads(
  plan: HeadsPlan,
  memory: number,
  say: (unavailable: Unavailable) => void,
): Promise<Program<HeadsRequest, null>> {
  const program = await openHeadsProgram(plan, say)
  const shared = new SharedMemory(memory)
  return {
    provider: program.provider,
    async run(count) {
      const [headsStart, end] = [matrixBytes(plan, count), batchBytes(plan, count)]
      const batch = viewBatch(plan, count, shared.reserve(end))
      shared.fetch(0, headsStart)
      await program.run({ count, ...batch })
      shared.publish(headsStart, end)
      return null
    },
    close: () => program.close(),
  }
}
