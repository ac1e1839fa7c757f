/**
 * A child process: opens the program of its plan and runs batch after batch, until it is killed. It holds nothing that
 * must be put away, so its owner ends it by SIGKILL and by nothing else.
 * It waits for a batch in a blocking read, since it has nothing else to do, and an event loop would only take time.
 */
import { Worker } from 'node:worker_threads'
import { takeChildDuties } from '../child-duties.js'
import { doorbellDescriptor, lifelineDescriptor, memoryDescriptor, messageDescriptor } from './descriptors.js'
import { awaitRing } from './doorbell.js'
import { BlockingFrames, type FrameFormat } from './frames.js'
import { reasonOf } from './graph-session.js'
import type { Program } from './program.js'
import type { ChildMessage, OwnerMessage, ProgramPlan, Unavailable } from './protocol.js'

const frames = new BlockingFrames(messageDescriptor)

endWithOwner()
takeChildDuties()
await serve()
end()

async function serve(): Promise<void> {
  try {
    const { plan, hasDoorbell } = hear('open')
    const program = await openProgram(plan)
    say({ kind: 'ready', provider: program.provider })
    for (;;) {
      const { request, format } = hasDoorbell ? heedRing() : hear('batch')
      // Answered in the format in which it was asked: the owner knows what a role's messages hold.
      say({ kind: 'done', reply: await program.run(request) }, format)
    }
  } catch (error) {
    say({ kind: 'failed', reason: reasonOf(error) })
  }
}

async function openProgram(plan: ProgramPlan): Promise<Program<unknown, unknown>> {
  const sayUnavailable = (unavailable: Unavailable): void => say({ kind: 'unavailable', ...unavailable })
  // Each role loads what it needs: a process with heads has no use for an image library.
  switch (plan.role) {
    case 'heads': {
      const { openSharedHeads } = await import('./shared-heads.js')
      return asGeneral(await openSharedHeads(plan, memoryDescriptor, sayUnavailable))
    }
    case 'text': {
      const { openTextProgram } = await import('./text-program.js')
      return asGeneral(await openTextProgram(plan, sayUnavailable))
    }
    case 'image': {
      const { openImageProgram } = await import('./image-program.js')
      return asGeneral(await openImageProgram(plan, sayUnavailable))
    }
  }
}

/** Requests arrive as they were sent, by an owner of the same build: their type is that of the plan's role. */
function asGeneral<Request, Reply>(program: Program<Request, Reply>): Program<unknown, unknown> {
  return {
    provider: program.provider,
    run: (request) => program.run(request as Request),
    close: () => program.close(),
  }
}

type Heard<Kind> = Extract<OwnerMessage, { kind: Kind }> & { readonly format: FrameFormat }

function hear<Kind extends OwnerMessage['kind']>(kind: Kind): Heard<Kind> {
  const { value, format } = frames.next() ?? end()
  const message = value as OwnerMessage
  if (message.kind !== kind) throw new Error(`the owner said ${message.kind} where it must say ${kind}`)
  return { ...(message as Extract<OwnerMessage, { kind: Kind }>), format }
}

function heedRing(): { readonly request: unknown; readonly format: FrameFormat } {
  return { request: awaitRing(doorbellDescriptor), format: 'json' }
}

function say(message: ChildMessage, format: FrameFormat = 'json'): void {
  frames.write(message, format)
}

function end(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('a process outlives SIGKILL')
}

/** A run holds this thread for as long as it computes, so another one waits for the end of the owner. */
function endWithOwner(): void {
  const code = `
    try { require('node:fs').readSync(${lifelineDescriptor}, Buffer.alloc(1)) } catch {}
    process.kill(process.pid, 'SIGKILL')`
  new Worker(code, { eval: true, name: 'lifeline' })
}
