/**
 * Servers and directories of one test, removed after it whether it passes or fails.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { ServerProcess } from '../harness/server.js'

const servers: ServerProcess[] = []
const scratch: string[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.dispose()))
  // A server that the test itself ends afterwards may still write its status file.
  for (const dir of scratch.splice(0)) rmSync(dir, { recursive: true, force: true, maxRetries: 10 })
})

export async function started(env: Record<string, string> = {}): Promise<ServerProcess> {
  return ended(new ServerProcess(env)).start()
}

/** Ends the server after the test, before its directories are removed. */
export function ended(server: ServerProcess): ServerProcess {
  servers.push(server)
  return server
}

export function scratchDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'understudy-scratch-'))
  scratch.push(dir)
  return dir
}
