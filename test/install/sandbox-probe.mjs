/**
 * Runs once in the sandbox of deploy/understudy.service, and once outside of it: tries what the sandbox must refuse, and what
 * the service needs. Prints an object with `allowed` or the error of each attempt. The state directory is the argument.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import os from 'node:os'

const stateDir = process.argv[2] ?? ''
const name = 'understudy-probe-file'
const connectMsMax = 3000

function write(directory) {
  const file = `${directory}/${name}`
  writeFileSync(file, 'x')
  rmSync(file)
}

/** A program that must end with 0. */
function runs(...command) {
  const { status, stderr, error } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(error?.code ?? stderr.trim().split('\n')[0])
}

/** In the private /tmp, or in that of the machine. */
function inTmp(work) {
  const file = `/tmp/${name}`
  writeFileSync(file, 'x')
  try {
    work(file)
  } finally {
    rmSync(file)
  }
}

function connects(host) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: 7000, timeout: connectMsMax })
    socket.once('connect', () => resolve(socket.destroy()))
    socket.once('error', reject)
    socket.once('timeout', () => reject(new Error('no connection'), socket.destroy()))
  })
}

const refused = {
  ...Object.fromEntries(
    ['/', '/etc', '/usr', '/opt/understudy', '/var/lib', '/var/log', '/run', '/root', '/home', '/dev'].map(
      (directory) => [`writes to ${directory}`, () => write(directory)],
    ),
  ),
  ...Object.fromEntries(
    ['/etc/understudy/api-keys', '/etc/shadow', '/root/secret', '/home/secret', '/tmp/of-the-machine'].map(
      (file) => [`reads ${file}`, () => readFileSync(file)],
    ),
  ),
  'sees process 1': () => {
    if (!readdirSync('/proc').includes('1')) throw new Error('invisible')
  },
  'signals process 1': () => process.kill(1, 0),
  'becomes root by a setuid program': () => {
    if (spawnSync('/opt/understudy-probe/id', ['-u'], { encoding: 'utf8' }).stdout.trim() !== '0')
      throw new Error('the same user')
  },
  'makes a setuid file': () => inTmp((file) => chmodSync(file, 0o4755)),
  'gives a file to root': () => inTmp((file) => chownSync(file, 0, 0)),
  'makes a device': () => runs('mknod', `${stateDir}/device`, 'c', '1', '3'),
  'makes a mount namespace': () => runs('unshare', '--mount', 'true'),
  'makes a user namespace': () => runs('unshare', '--user', 'true'),
  mounts: () => runs('mount', '-t', 'tmpfs', 'tmpfs', stateDir),
  'changes a kernel setting': () => writeFileSync('/proc/sys/net/ipv4/ip_forward', '0'),
  'makes a control group': () => {
    mkdirSync('/sys/fs/cgroup/probe')
    rmdirSync('/sys/fs/cgroup/probe')
  },
  'sets the host name': () => runs('hostname', os.hostname()),
  'raises its priority': () => os.setPriority(-5),
  'changes its personality': () => runs('setarch', 'linux32', 'true'),
  'opens a netlink socket': () => os.networkInterfaces(),
  'connects to another address': () => connects('192.0.2.1'),
}

const needed = {
  'writes to its state directory': () => write(stateDir),
  'writes to /tmp': () => write('/tmp'),
  'writes to /dev/shm': () => write('/dev/shm'),
  'lowers its priority': () => os.setPriority(19),
  'connects to this machine': () => connects('127.0.0.1'),
}

async function results(attempts) {
  const found = {}
  for (const [attempt, work] of Object.entries(attempts))
    try {
      await work()
      found[attempt] = 'allowed'
    } catch (error) {
      found[attempt] = error.code ?? error.message
    }
  return found
}

const status = readFileSync('/proc/self/status', 'utf8')
const fields = ['NoNewPrivs', 'Seccomp', 'CapEff', 'CapBnd'].map((field) => [
  field,
  new RegExp(`^${field}:\\s+(\\S+)`, 'm').exec(status)?.[1],
])
console.log(
  JSON.stringify({
    refused: await results(refused),
    needed: await results(needed),
    status: Object.fromEntries(fields),
  }),
)
