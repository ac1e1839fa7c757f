/**
 * Entry point of every child process: opens the program of its plan and runs batch after batch, until it is killed.
 * It keeps nothing that must be saved, so its parent always ends it by SIGKILL.
 */
import { once } from 'node:events'
import { rmdirSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { silentLog, type Log } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { headerDescriptor, lifelineDescriptor, payloadDescriptor } from './child-process.js'
import { encoderChildFormat, headsChildFormat } from './batches.js'
import { ChildMessages, type ChildFormat, type Message, type OutgoingMessage } from './messages.js'
import { reasonOf } from './onnx-errors.js'
import type { Program } from './program.js'
import type { ChildHeader, OpenHeader, ProcessPlan } from './protocol.js'
import type { TrialInput } from './trial-runs.js'

/** `oom_score_adj`, at most 1000: when memory runs out, the kernel kills this process and not the service. */
const oomScoreAdjustment = 500

const messages = new ChildMessages(headerDescriptor, payloadDescriptor)

/** Lines for the log of the parent. Errors would arrive without their text, and the message repeats it. */
const log: Log = {
  ...silentLog,
  warn: (fields, message) => send({ kind: 'log', level: 'warn', fields: plain(fields), message }),
  error: (fields, message) => send({ kind: 'log', level: 'error', fields: plain(fields), message }),
}

interface Opened extends Pick<Program<never, never>, 'placements' | 'ports'> {
  readonly reply: (request: Message) => Promise<OutgoingMessage>
}

prepareProcess()
await endWithParent()
// Ignores send failures: the parent has exited. The lifeline thread then ends this process.
await serve().catch(() => undefined)

async function serve(): Promise<void> {
  const first = messages.next()
  if (first === null) return
  try {
    const { placements, ports, reply } = await open((first.header as OpenHeader).plan)
    removeWorkingDirectory()
    send({ kind: 'ready', placements, ports })
    for (let request = messages.next(); request !== null; request = messages.next()) {
      messages.write(await reply(request))
    }
  } catch (error) {
    send({ kind: 'failed', reason: reasonOf(error) })
  }
}

/** Each role loads only what it needs: a process with heads has no use for an image library. */
async function open(plan: ProcessPlan): Promise<Opened> {
  switch (plan.role) {
    case 'heads': {
      const { openHeadsProgram } = await import('./heads-program.js')
      return openedChild(await openHeadsProgram(plan, log, sendOpened), headsChildFormat)
    }
    case 'text': {
      const { openTextProgram } = await import('../text/text-program.js')
      return openedChild(await openTextProgram(plan, log, sendOpened), encoderChildFormat)
    }
    case 'image': {
      const { openImageProgram } = await import('../image/image-program.js')
      return openedChild(await openImageProgram(plan, log, sendOpened), encoderChildFormat)
    }
    case 'ports': {
      const { openGraph } = await import('./graph-session.js')
      const { runTrial, trialChildFormat } = await import('./trial-runs.js')
      const { placement, ports, session } = await openGraph(plan, { problemsOf: () => [] }, log)
      const program = {
        placements: [placement],
        ports: [ports],
        run: (inputs: readonly TrialInput[]) => runTrial(session, ports, inputs),
      }
      return openedChild(program, trialChildFormat)
    }
    case 'tokenizer': {
      const { openTextReader } = await import('../text/text-reader.js')
      sendOpened()
      await openTextReader(plan)
      const reply = (): Promise<never> => Promise.reject(new Error('a tokenizer alone runs no batches'))
      return { placements: [], ports: [], reply }
    }
  }
}

function openedChild<Request, Reply>(
  program: Program<Request, Reply>,
  format: ChildFormat<Request, Reply>,
): Opened {
  const { placements, ports } = program
  assert(placements.length === ports.length, 'each graph has a placement and its ports')
  return {
    placements,
    ports,
    reply: async (request) => format.encodeReply(await program.run(format.decodeRequest(request))),
  }
}

function send(header: ChildHeader): void {
  messages.write({ header, parts: [] })
}

function sendOpened(): void {
  send({ kind: 'opened' })
}

function plain(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !(value instanceof Error)))
}

/**
 * A process may work in a directory that no longer exists; there are no files in it, and none can be made. If the whole
 * machine or container is killed, nothing is left of a process that serves. A directory with files is not the one that the
 * parent has made, and stays.
 */
function removeWorkingDirectory(): void {
  try {
    rmdirSync(process.cwd())
  } catch {
    // The parent removes it at the end of the process.
  }
}

/** Ctrl-C and service managers signal whole groups; the parent decides when this process ends. */
function prepareProcess(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  try {
    writeFileSync('/proc/self/oom_score_adj', String(oomScoreAdjustment))
  } catch {
    // Linux only, and a sandbox may forbid it.
  }
}

/**
 * A run blocks this thread for as long as it computes, so another one waits for the end of the parent. It removes the working
 * directory of a program that is not open yet: the parent can no longer do so. Resolves when it runs: a thread cannot start in a
 * directory that no longer exists.
 */
async function endWithParent(): Promise<void> {
  const code = `
    const { readSync, rmdirSync } = require('node:fs')
    const directory = process.cwd()
    require('node:worker_threads').parentPort.postMessage('running')
    try { readSync(${lifelineDescriptor}, Buffer.alloc(1)) } catch {}
    try { rmdirSync(directory) } catch {}
    process.kill(process.pid, 'SIGKILL')`
  await once(new Worker(code, { eval: true, name: 'lifeline' }), 'message')
}
