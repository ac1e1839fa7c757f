/**
 * Entry point of every child process: opens the program of its plan and runs batch after batch, until it is killed.
 * It keeps nothing that must be saved, so its owner ends it by SIGKILL and by nothing else.
 * It waits for a batch in a blocking read, since it has nothing else to do, and an event loop would only take time.
 */
import { rmdirSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { ModelLog } from './log.js'
import type { ChildFormat } from './sessions/batch-format.js'
import { lifelineDescriptor, messageDescriptor } from './sessions/child-process.js'
import { encoderChildFormat } from './sessions/encoder-batch.js'
import { BlockingFrames, withoutPayload, type Frame, type Message } from './sessions/frames.js'
import { reasonOf } from './sessions/onnx-errors.js'
import type { Program } from './sessions/program.js'
import type { ChildHeader, OpenHeader, ProcessPlan } from './sessions/protocol.js'

/** Of 1000: where the system is short of memory, it ends this process and not the service. */
const oomScoreAdjustment = 500

const frames = new BlockingFrames(messageDescriptor)

/** Lines for the log of the owner. Errors would arrive without their text, and the message repeats it. */
const log: ModelLog = {
  info: () => undefined,
  warn: (fields, message) => send({ kind: 'log', level: 'warn', fields: plain(fields), message }),
  error: (fields, message) => send({ kind: 'log', level: 'error', fields: plain(fields), message }),
}

/** A program that is open. */
interface Opened {
  readonly provider: string
  readonly report?: unknown
  /** null: it serves no batches. */
  readonly answer: ((request: Frame) => Promise<Message>) | null
}

endWithOwner()
prepareProcess()
// What cannot be sent, as the owner has ended, is no longer of interest.
await serve().catch(() => undefined)
end()

async function serve(): Promise<void> {
  try {
    const { plan } = (frames.next() ?? end()).header as OpenHeader
    const { provider, report, answer } = await open(plan)
    send({ kind: 'ready', provider, report })
    for (let frame = frames.next(); frame !== null && answer !== null; frame = frames.next()) {
      frames.write(await answer(frame))
    }
  } catch (error) {
    send({ kind: 'failed', reason: reasonOf(error) })
  }
}

/** Each role loads only what it needs: a process with heads has no use for an image library. */
async function open(plan: ProcessPlan): Promise<Opened> {
  switch (plan.role) {
    case 'heads': {
      const { openHeadsProgram } = await import('./sessions/heads-program.js')
      const { headsChildFormat } = await import('./sessions/heads-batch.js')
      return serving(await openHeadsProgram(plan, log), headsChildFormat(plan))
    }
    case 'text': {
      const { openTextProgram } = await import('./sessions/text-program.js')
      return serving(await openTextProgram(plan, log), encoderChildFormat)
    }
    case 'image': {
      const { openImageProgram } = await import('./sessions/image-program.js')
      return serving(await openImageProgram(plan, log), encoderChildFormat)
    }
    case 'ports': {
      const { openGraph } = await import('./sessions/graph-session.js')
      const { provider, ports } = await openGraph(plan, () => [], log)
      return { provider, report: ports, answer: null }
    }
    case 'verification': {
      const { verifyVersion } = await import('./verification/verify-version.js')
      return { ...(await verifyVersion(plan, log)), answer: null }
    }
  }
}

function serving<Request, Reply>(
  program: Program<Request, Reply>,
  format: ChildFormat<Request, Reply>,
): Opened {
  return {
    provider: program.provider,
    answer: async (frame) => format.encodeReply(await program.run(format.decodeRequest(frame))),
  }
}

function send(header: ChildHeader): void {
  frames.write(withoutPayload(header))
}

function plain(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !(value instanceof Error)))
}

/** Ctrl-C and service managers signal whole groups; the owner decides when this process ends. */
function prepareProcess(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  try {
    writeFileSync('/proc/self/oom_score_adj', String(oomScoreAdjustment))
  } catch {
    // Linux only, and a sandbox may forbid it.
  }
}

/** A run blocks this thread for as long as it computes, so another one waits for the end of the owner. */
function endWithOwner(): void {
  const code = `
    const { readSync, rmdirSync } = require('node:fs')
    try { readSync(${lifelineDescriptor}, Buffer.alloc(1)) } catch {}
    try { rmdirSync(process.cwd()) } catch {}
    process.kill(process.pid, 'SIGKILL')`
  new Worker(code, { eval: true, name: 'lifeline' })
}

/** The owner has closed its end of the pipe. Its working directory is empty, and the owner can no longer remove it. */
function end(): never {
  try {
    rmdirSync(process.cwd())
  } catch {
    // The owner has removed it.
  }
  process.kill(process.pid, 'SIGKILL')
  throw new Error('the process survived SIGKILL')
}
