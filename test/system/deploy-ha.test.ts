/**
 * The files of deploy/ for several processes: real HAProxy and nginx send calls to the one that is ready, Patroni accepts its
 * configuration, and the Kubernetes manifest keeps the rules that a standby needs. Each part is skipped, with one line,
 * if its program is missing.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { haproxyMissing, HaProxy } from '../failover/haproxy.js'
import { freePort, projectDir } from '../harness/server.js'
import { scratchDir } from '../helpers/servers.js'
import { makeTlsFiles, opensslMissing } from '../helpers/tls-files.js'

const read = (name: string): string => readFileSync(join(projectDir, 'deploy', name), 'utf8')
const isMissing = (program: string, flag: string): boolean => spawnSync(program, [flag]).error !== undefined
const nginxMissing = isMissing('nginx', '-v') || opensslMissing
const patroniMissing = isMissing('patroni', '--version')
for (const [name, missing] of [
  ['HAProxy', haproxyMissing || opensslMissing],
  ['nginx', nginxMissing],
  ['Patroni', patroniMissing],
] as const)
  if (missing)
    console.log(`skipped: the test of ${name} in test/system/deploy-ha.test.ts needs it, and openssl`)

/** A process that is the owner or a standby: as `/readyz` of its admin listener, and of its own listener. */
class FakeProcess {
  readonly name: string
  isOwner = false
  port = 0
  adminPort = 0
  readonly bodies: string[] = []

  constructor(name: string) {
    this.name = name
  }

  async start(): Promise<this> {
    this.port = await this.#listen((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (!this.isOwner) {
          response.writeHead(503, { 'Retry-After': '1' }).end('standby')
          return
        }
        this.bodies.push(Buffer.concat(chunks).toString())
        response.end(this.name)
      })
    })
    this.adminPort = await this.#listen((request, response) => {
      // The admin listener refuses other names with 421.
      const isKnown = request.url === '/readyz' && request.headers.host === 'localhost'
      response.writeHead(isKnown && this.isOwner ? 200 : 503).end()
    })
    return this
  }

  async #listen(handle: http.RequestListener): Promise<number> {
    const server = http.createServer(handle)
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }
}

async function threeProcesses(): Promise<FakeProcess[]> {
  const processes = await Promise.all(['a', 'b', 'c'].map((name) => new FakeProcess(name).start()))
  processes[0]!.isOwner = true
  return processes
}

/** The response to a POST, repeated while it ends with the connection to a process that is no longer ready. */
async function posted(
  url: string,
  body = '',
): Promise<{ readonly response: Response; readonly text: string }> {
  for (;;) {
    try {
      const response = await fetch(url, { method: 'POST', body, headers: { Authorization: 'key' } })
      const text = await response.text()
      if (response.status !== 502) return { response, text }
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
    }
    await delay(20)
  }
}

/** Sends calls until one returns 200; all others must be refused with 503. */
async function served(url: string, body: string): Promise<string> {
  for (;;) {
    const { response, text } = await posted(url, body)
    if (response.status === 200) return text
    expect(response.status).toBe(503)
    await delay(20)
  }
}

async function expectRouting(url: string, processes: readonly FakeProcess[]): Promise<void> {
  const body = 'a cycle '.repeat(100_000)
  expect(await served(url, body)).toBe('a')
  const [first, second] = processes as [FakeProcess, FakeProcess]
  first.isOwner = false
  second.isOwner = true
  expect(await served(url, body)).toBe('b')
  // If a connection ended with the process that was marked down, the client has sent it again.
  expect(new Set(second.bodies)).toEqual(new Set([body]))
  second.isOwner = false
  const { response } = await posted(url, body)
  expect(response.status).toBe(503)
}

test.skipIf(haproxyMissing || opensslMissing)('haproxy accepts haproxy.cfg as shipped', () => {
  const directory = scratchDir()
  const { cert, key } = makeTlsFiles(directory, 'localhost')
  const pem = join(directory, 'haproxy.pem')
  writeFileSync(pem, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'))
  const file = join(directory, 'haproxy.cfg')
  writeFileSync(file, read('haproxy.cfg').replace('/etc/ssl/understudy/haproxy.pem', pem))
  const { status, stderr, stdout } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  expect(stderr + stdout).not.toMatch(/WARNING|ALERT/)
  expect(status).toBe(0)
})

test.skipIf(haproxyMissing)(
  'HAProxy sends calls to the process that is ready, and follows a takeover',
  async () => {
    const processes = await threeProcesses()
    const haproxy = await HaProxy.start(await freePort(), processes)
    onTestFinished(() => haproxy.dispose())
    const url = `http://127.0.0.1:${haproxy.port}/v1/cycles`
    await expectRouting(url, processes)
    // Until HAProxy notices, the standby itself refuses calls.
    let refused = await posted(url)
    while (refused.response.headers.get('content-type') !== 'application/json') refused = await posted(url)
    expect(refused.response.status).toBe(503)
    expect(refused.response.headers.get('retry-after')).toBe('1')
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'server_error' } })
    const bad = await fetch(url, { headers: { Authorization: 'key\u00a0' } })
    expect(bad.status).toBe(401)
  },
)

test.skipIf(nginxMissing)('nginx sends calls to the process that does not refuse them', async () => {
  const processes = await threeProcesses()
  const port = await freePort()
  const directory = scratchDir()
  const { cert, key } = makeTlsFiles(directory, 'localhost')
  const servers = [...read('nginx-ha.conf').matchAll(/^# +(server .*)$/gm)].map(([, line]) => line)
  let configuration = read('nginx.conf')
    .replace('server 127.0.0.1:8080;', servers.join('\n  '))
    .replaceAll(/\n *listen \[::\]:[^\n]*/g, '')
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replace('listen 80;', `listen 127.0.0.1:${await freePort()};`)
    .replace('/etc/ssl/understudy/fullchain.pem', cert)
    .replace('/etc/ssl/understudy/privkey.pem', key)
  for (const [index, { port: backend }] of processes.entries())
    configuration = configuration.replace(`10.0.0.1${index + 1}:8080`, `127.0.0.1:${backend}`)
  expect(configuration).not.toContain('10.0.0.')
  writeFileSync(join(directory, 'understudy.conf'), configuration)
  writeFileSync(join(directory, 'understudy-ha.conf'), read('nginx-ha.conf'))
  mkdirSync(join(directory, 'tmp'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const main = [
    ...['daemon off;', 'worker_processes 1;', process.getuid?.() === 0 ? 'user root;' : ''],
    ...[`pid ${directory}/nginx.pid;`, `error_log ${directory}/error.log;`],
    ...['events { worker_connections 512; }', 'http {', 'access_log off;'],
    ...temporary.map((name) => `${name}_temp_path ${directory}/tmp/${name};`),
    ...[`include ${directory}/understudy.conf;`, '}'],
  ]
  const file = join(directory, 'nginx.conf')
  writeFileSync(file, `${main.join('\n')}\n`)
  const args = ['-p', directory, '-c', file, '-e', join(directory, 'error.log')]
  const checked = spawnSync('nginx', ['-t', ...args], { encoding: 'utf8' })
  expect(checked.stderr).not.toMatch(/\[(warn|emerg)\]/)
  expect(checked.status).toBe(0)
  const nginx = spawn('nginx', args, { stdio: 'ignore' })
  onTestFinished(() => void nginx.kill('SIGTERM'))
  const url = `http://127.0.0.1:${port}/v1/cycles`
  while ((await fetch(url).catch(() => null)) === null) expect(nginx.exitCode).toBeNull()
  for (const each of processes) each.bodies.length = 0
  await expectRouting(url, processes)
})

test('Patroni promotes only a standby that has every commit, and commits wait for one', () => {
  const text = read('patroni.yml')
  const [patroni] = parseAllDocuments(text).map((document) => document.toJS() as Json)
  expect(at(patroni, 'bootstrap.dcs')).toMatchObject({
    synchronous_mode: true,
    synchronous_mode_strict: true,
    postgresql: {
      use_pg_rewind: true,
      parameters: { synchronous_commit: 'on', fsync: 'on', full_page_writes: 'on' },
    },
  })
})

test('the times of patroni.yml follow the rules of Patroni 3.2 and later', () => {
  const [patroni] = parseAllDocuments(read('patroni.yml')).map((document) => document.toJS() as Json)
  const seconds = (name: string): number => Number(at(patroni, `bootstrap.dcs.${name}`))
  expect(seconds('ttl')).toBeGreaterThanOrEqual(20)
  expect(seconds('loop_wait') + 2 * seconds('retry_timeout')).toBeLessThanOrEqual(seconds('ttl'))
})

test.skipIf(patroniMissing)('patroni accepts patroni.yml', () => {
  const file = join(scratchDir(), 'patroni.yml')
  const text = read('patroni.yml')
    .replaceAll('10.0.0.21:8008', '127.0.0.2:18008')
    .replaceAll('10.0.0.21:5432', '127.0.0.2:15432')
    .replace('/var/lib/postgresql/understudy', join(scratchDir(), 'data'))
  writeFileSync(file, text)
  const { status, stdout, stderr } = spawnSync('patroni', ['--validate-config', file], { encoding: 'utf8' })
  expect(stdout + stderr).toBe('')
  expect(status).toBe(0)
})

type Json = Readonly<Record<string, unknown>>

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((found, name) => (found as Json | undefined)?.[name], value)
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

const documents = parseAllDocuments(read('kubernetes.yaml'))
const manifests = documents.map((document) => document.toJS() as Manifest)

function manifest(kind: string, name: string): Manifest {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name)
  if (found === undefined) throw new Error(`no ${kind} ${name}`)
  return found
}

test('the Kubernetes manifest is valid YAML, with the kinds that are needed', () => {
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([])
  expect(manifests.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`)).toEqual(
    [
      'v1 Service understudy-processes',
      'apps/v1 StatefulSet understudy',
      'policy/v1 PodDisruptionBudget understudy',
      'v1 ConfigMap understudy-haproxy',
      'apps/v1 Deployment understudy-haproxy',
      'policy/v1 PodDisruptionBudget understudy-haproxy',
      'v1 Service understudy',
    ],
  )
})

test('a standby is a ready pod, so that updates and evictions continue, and one pod is replaced at a time', () => {
  const set = manifest('StatefulSet', 'understudy')
  expect(at(set, 'spec.replicas')).toBe(3)
  const [container] = at(set, 'spec.template.spec.containers') as [Json]
  expect(at(container, 'readinessProbe.httpGet')).toEqual({ path: '/readyz?standbyok=true', port: 'admin' })
  for (const probe of ['startupProbe', 'livenessProbe'])
    expect(at(container, `${probe}.httpGet`)).toEqual({ path: '/livez', port: 'admin' })
  expect(at(manifest('PodDisruptionBudget', 'understudy'), 'spec')).toEqual({
    maxUnavailable: 1,
    selector: { matchLabels: { app: 'understudy' } },
  })
  expect(at(manifest('Service', 'understudy-processes'), 'spec')).toMatchObject({
    clusterIP: 'None',
    publishNotReadyAddresses: true,
  })
})

test('selectors, names and settings in the manifest fit together', () => {
  for (const [kind, name] of [
    ['StatefulSet', 'understudy'],
    ['Deployment', 'understudy-haproxy'],
  ] as const) {
    const workload = manifest(kind, name)
    const labels = at(workload, 'spec.template.metadata.labels')
    expect(at(workload, 'spec.selector.matchLabels')).toEqual(labels)
    expect(at(manifest('PodDisruptionBudget', name), 'spec.selector.matchLabels')).toEqual(labels)
  }
  expect(at(manifest('StatefulSet', 'understudy'), 'spec.serviceName')).toBe('understudy-processes')
  expect(at(manifest('Service', 'understudy'), 'spec.selector')).toEqual({ app: 'understudy-haproxy' })
  expect(at(manifest('Service', 'understudy-processes'), 'spec.selector')).toEqual({ app: 'understudy' })
  const [container] = at(manifest('StatefulSet', 'understudy'), 'spec.template.spec.containers') as [Json]
  const names = (container['env'] as { name: string }[]).map(({ name }) => name)
  const settings = readFileSync(join(projectDir, 'docs/settings.md'), 'utf8')
  expect(names.filter((name) => !settings.includes(name))).toEqual([])
})

test('the instructions put no secret into a variable: the pod that creates the tables reads the file of the service', () => {
  const page = readFileSync(join(projectDir, 'docs/high-availability.md'), 'utf8')
  for (const text of [page, read('kubernetes.yaml')])
    expect(text).not.toMatch(
      /PGPASSWORD|UNDERSTUDY_(ADMIN_TOKEN|API_KEYS)\b|--env\b|_JOURNAL=postgres:\/\/(\w+:|…)/,
    )
  const command = /^# +kubectl run [^]*? -- .*$/m.exec(read('kubernetes.yaml'))?.[0].replace(/^#/gm, '') ?? ''
  const { spec } = JSON.parse(/--overrides='([^']*)'/.exec(command)?.[1] ?? '{}') as { spec: Json }
  const pod = at(manifest('StatefulSet', 'understudy'), 'spec.template.spec') as Json
  const [container] = at(pod, 'containers') as [Json]
  const [mounted] = at(spec, 'containers.0.volumeMounts') as [Json]
  expect(at(container, 'volumeMounts')).toContainEqual({ ...mounted, readOnly: true })
  expect(at(spec, 'volumes.0.secret.secretName')).toBe('understudy')
  const file = /--config (.*)$/m.exec(command)?.[1]
  expect(at(container, 'env')).toContainEqual({ name: 'UNDERSTUDY_CONFIG', value: file })
})

test('HAProxy in the manifest checks and routes as haproxy.cfg does', () => {
  const shipped = at(manifest('ConfigMap', 'understudy-haproxy'), 'data') as Record<string, string>
  const linesOf = (text: string): string[] =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#') && !/^(server|bind) /.test(line))
  const inManifest = linesOf(shipped['haproxy.cfg'] ?? '')
  const extra = ' init-addr none resolvers cluster'
  expect(linesOf(read('haproxy.cfg')).filter((line) => !inManifest.includes(line))).toEqual([
    expect.stringMatching(/^default-server /),
  ])
  expect(inManifest.map((line) => line.replace(extra, ''))).toEqual(
    expect.arrayContaining(linesOf(read('haproxy.cfg'))),
  )
  // HAProxy's resolvers use no search domains.
  const pods = [...(shipped['haproxy.cfg'] ?? '').matchAll(/^ *server \S+ (\S+):8080$/gm)].map(
    ([, host]) => host,
  )
  expect(pods).toEqual(
    [0, 1, 2].map((pod) => `understudy-${pod}.understudy-processes.default.svc.cluster.local`),
  )
})

test.skipIf(haproxyMissing)('haproxy accepts the configuration in the manifest', () => {
  const data = at(manifest('ConfigMap', 'understudy-haproxy'), 'data') as Record<string, string>
  const file = join(scratchDir(), 'haproxy.cfg')
  writeFileSync(file, data['haproxy.cfg'] ?? '')
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  expect(stdout + stderr).not.toMatch(/WARNING|ALERT/)
  expect(status).toBe(0)
})
