/**
 * Starts a child process: a built file of this program, in the Node that runs it, without the flags of this process (a
 * test runner's would follow the child).
 */
import { spawn } from 'node:child_process'
import { loadFromAddon } from '../native.js'
import { startLightly } from './light-process.js'
import { followChild } from './node-process.js'
import type { StartedProcess } from './started-process.js'

/**
 * ONNX Runtime reports to its maker unless it is told not to: it looks up a host of Microsoft's and keeps what it would tell
 * in the home directory (1.30, core/platform/posix/telemetry.cc). This service calls nobody.
 */
const silent = { ORT_DISABLE_TELEMETRY: '1' }

/**
 * `args` begin with the file. `extra`: descriptors of ours for `firstFreeDescriptor` and those behind it; null: the
 * child gets nothing there. Throws what the system says when it cannot, or tells it by the end of the process.
 */
export function startProcess(
  args: readonly string[],
  extra: readonly (number | null)[] = [],
  addon = loadFromAddon('startProcess', 'reapProcess', 'createSocketPair'),
): StartedProcess {
  const env = { ...process.env, ...silent }
  const light = addon === null ? null : startLightly(addon, args, env, extra)
  if (light !== null) return light
  const more = extra.map((descriptor) => descriptor ?? ('ignore' as const))
  return followChild(spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'pipe', 'pipe', ...more] }))
}
