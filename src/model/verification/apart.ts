/**
 * The checks of a version in a process of its own, beside a service that goes on serving. Making 5,000 trial rows,
 * computing their features and comparing what comes out holds an event loop for tens of milliseconds at a time; there
 * it holds nobody's. The process and its sessions run behind the service.
 */
import { fileURLToPath } from 'node:url'
import { gaveUp, throwIfEnded } from '../giving-up.js'
import { loadModel, timeLimitMsDefault, type LoadedModel, type LoadOptions } from '../loaded-model.js'
import { ModelError } from '../model.js'
import { idleMsMax, ProcessBehind, type IdleCores } from '../priority.js'
import { killDescendants } from '../process-tree.js'
import { startProcess, type StartedProcess } from '../processes/index.js'
import { FrameReader, frameOf, startMsMax } from '../sessions/index.js'
import type { CheckMessage, CheckOrder, SoundVersion } from './checker.js'

/** Start and checks together. A bound, not an expectation. */
const checkMsMax = 2 * startMsMax
/** Of what a process that fails has printed. */
const printedCharsMax = 1000

/** Types are stripped by nobody in a child: from source, too, it is the built file that runs. */
const checkerFile = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/model/verification/checker.js' : './checker.js',
    import.meta.url,
  ),
)

/**
 * As `loadSoundModel`, without the work of the checks in this process: they are made first, by processes of their own,
 * and what is loaded then are the same files. `ended` gives up either; then nothing is left running.
 */
export async function loadSoundModelBeside(
  options: CheckedOptions,
  ended: AbortSignal,
): Promise<LoadedModel> {
  const cores: IdleCores = { areMissing: false }
  const { identity, mayRise } = await checkApart(options, cores, ended)
  const model = await loadModel({ ...options, beside: { mayRise, cores, ended } })
  if (model.identity === identity) return model
  await model.close()
  throw new ModelError(`model ${options.version} was changed while it was checked`)
}

/** What came out of checks that were passed, and whether processes that start behind the service may come back. */
type Outcome = SoundVersion & Pick<ProcessBehind, 'mayRise'>

/** Rejects with a `ModelError` that says what is wrong; what the process had to say about it is logged then. */
async function checkApart(options: CheckedOptions, cores: IdleCores, ended: AbortSignal): Promise<Outcome> {
  // Where no core is idle for long, and the process may not be given more, another one gets a share from its start.
  const found = (await checkOnce(options, cores, ended)) ?? (await checkOnce(options, cores, ended))
  if (found === null) throw new Error('a process with a share has starved')
  return found
}

/** null: it starved. */
async function checkOnce(
  { codec, log, ...options }: CheckedOptions,
  cores: IdleCores,
  ended: AbortSignal,
): Promise<Outcome | null> {
  throwIfEnded(ended)
  const child = start(options.version)
  let starve = (): void => undefined
  const starved = new Promise<null>((resolve) => (starve = () => resolve(null)))
  const behind = child.pid === undefined ? null : new ProcessBehind(child.pid, { cores, starved: starve })
  // For a while, a batch may have no core to run on.
  const timeLimitMs = (options.timeLimitMs ?? timeLimitMsDefault) + idleMsMax
  const order: CheckOrder = { options: { ...options, timeLimitMs }, codec: codec?.name ?? 'reference' }
  const lines: Line[] = []
  const end = endOf(child)
  try {
    const sound = await Promise.race([outcomeOf(child, order, lines, ended), starved])
    return sound && { identity: sound.identity, mayRise: behind?.mayRise === true }
  } catch (error) {
    for (const { level, fields, message } of lines) log[level](fields, message)
    throw error
  } finally {
    behind?.leave()
    end()
  }
}

/**
 * Ends the process and its sessions. They would end with it by themselves, but only when they are given a core, and
 * till then they hold their memory.
 */
function endOf(child: StartedProcess): () => void {
  let isGone = false
  void child.gone.then(() => (isGone = true))
  return () => {
    // Then its number may be another process's.
    if (child.pid !== undefined && !isGone) killDescendants(child.pid)
    child.kill()
  }
}

type CheckedOptions = LoadOptions & { readonly version: string }
type Line = Extract<CheckMessage, { kind: 'line' }>

function start(version: string): StartedProcess {
  try {
    return startProcess([checkerFile])
  } catch (cause) {
    // Where there is no memory for one more process, for example.
    throw new ModelError(`model ${version} cannot be checked: ${(cause as Error).message}`, { cause })
  }
}

function outcomeOf(
  child: StartedProcess,
  order: CheckOrder,
  lines: Line[],
  ended: AbortSignal,
): Promise<SoundVersion> {
  const { version } = order.options
  return new Promise((resolve, reject) => {
    let printed = ''
    for (const output of child.outputs) {
      output.on('data', (piece: Buffer) => {
        printed = (printed + piece.toString()).slice(-printedCharsMax)
      })
    }
    const giveUp = (): void => settle(() => reject(gaveUp()))
    const timer = setTimeout(() => {
      const late = new ModelError(`the checks of model ${version} took longer than ${checkMsMax} ms`)
      settle(() => reject(late))
    }, checkMsMax)
    const settle = (end: () => void): void => {
      clearTimeout(timer)
      ended.removeEventListener('abort', giveUp)
      end()
    }
    ended.addEventListener('abort', giveUp)
    const hear = (message: CheckMessage): void => {
      if (message.kind === 'line') lines.push(message)
      else if (message.kind === 'sound') settle(() => resolve(message))
      else settle(() => reject(new ModelError(message.reason)))
    }
    const frames = new FrameReader()
    child.messages?.on('data', (piece: Buffer) => {
      try {
        for (const { value } of frames.take(piece)) hear(value as CheckMessage)
      } catch (cause) {
        const why = `the checks of model ${version} cannot be understood: ${(cause as Error).message}`
        settle(() => reject(new ModelError(why, { cause })))
      }
    })
    void child.ended.then((how) => {
      const words = printed.trim() === '' ? '' : `: ${printed.trim()}`
      settle(() => reject(new ModelError(`the process that checks model ${version} ${how}${words}`)))
    })
    child.messages?.write(frameOf(order, 'json'))
  })
}
