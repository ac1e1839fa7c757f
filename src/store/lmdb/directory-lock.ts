/**
 * One process per data directory. The lock is a thing of the kernel that dies with its process, so no crash leaves
 * one behind and no two starters can both win.
 *
 * On Linux: a listening socket in the abstract namespace, named after the directory's device and inode. The name is
 * taken or it is not; there is no file to be stale. Whoever finds it taken connects and is told the pid. Abstract names
 * belong to a network namespace: two containers that share a volume but no network do not see each other's.
 * On macOS: `understudy.lock` in the directory, opened with O_EXLOCK; it holds the pid.
 */
import { open, readFile, stat } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { StoreError } from '../store-error.js'

export interface DirectoryLock {
  /** Gives the directory free. */
  readonly release: () => Promise<void>
}

/** How long the holder may take to name itself; it answers from its event loop, which may be busy. */
const answerMsMax = 1000
/** Of macOS, within the directory that it locks. */
export const directoryLockName = 'understudy.lock'
const pidForm = /^\d{1,10}\n$/

/** Locks an existing directory. Rejects with a StoreError `locked` that names the process that holds it. */
export async function lockDirectory(dataDir: string): Promise<DirectoryLock> {
  if (process.platform === 'linux') return lockBySocket(dataDir)
  if (process.platform === 'darwin') return lockByFile(dataDir)
  throw new StoreError('unusable', `a data directory cannot be locked on ${process.platform}`)
}

async function lockBySocket(dataDir: string): Promise<DirectoryLock> {
  const { dev, ino } = await stat(dataDir, { bigint: true })
  const name = `\0understudy-${dev}-${ino}`
  const server = createServer(answer)
  try {
    await listen(server, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw lockedError(dataDir, await askHolder(name))
  }
  server.unref()
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}

function listen(server: Server, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path: name }, () => {
      server.off('error', reject)
      // A lock that fails to answer is still a lock.
      server.on('error', () => undefined)
      resolve()
    })
  })
}

/** Says the pid and hangs up; a client can neither hold the connection open nor keep the process alive. */
function answer(client: Socket): void {
  client.unref()
  client.on('error', () => undefined)
  client.end(`${process.pid}\n`, () => client.destroy())
}

/** The holder's pid, or undefined if it does not say. */
function askHolder(name: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ path: name })
    socket.setTimeout(answerMsMax, () => socket.destroy())
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
      if (text.length > 16) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(pidForm.test(text) ? text.trim() : undefined))
  })
}

// <fcntl.h> of macOS; Node has no name for O_EXLOCK.
const darwinOpen = { readWrite: 0x2, nonBlock: 0x4, exclusiveLock: 0x20, create: 0x200 }

async function lockByFile(dataDir: string): Promise<DirectoryLock> {
  const path = join(dataDir, directoryLockName)
  const { readWrite, nonBlock, exclusiveLock, create } = darwinOpen
  try {
    const file = await open(path, readWrite | nonBlock | exclusiveLock | create, 0o600)
    await file.truncate(0)
    await file.write(`${process.pid}\n`, 0)
    return { release: () => file.close() }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    const text = await readFile(path, 'latin1')
    throw lockedError(dataDir, pidForm.test(text) ? text.trim() : undefined)
  }
}

function lockedError(dataDir: string, pid: string | undefined): StoreError {
  const holder = pid === undefined ? 'another process' : `process ${pid}`
  return new StoreError('locked', `the data directory ${dataDir} is in use by ${holder}`)
}
