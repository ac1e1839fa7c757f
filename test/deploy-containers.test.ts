/** The files of deploy/ for containers: Dockerfile, compose.yaml, and what Prometheus and Grafana are started with. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { checkVariables } from '../src/cli/settings/read-settings.js'
import { projectDir } from './helpers/project.js'
import { makeTlsFiles, opensslMissing } from './helpers/tls-files.js'

const deploy = join(projectDir, 'deploy')
const read = (file: string): string => readFileSync(join(deploy, file), 'utf8')
const dockerfile = read('Dockerfile')
const compose = read('compose.yaml')
const { version } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as { version: string }

/** Values of `key: value` and `- value` lines that begin with a text. */
const linesWith = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, value]) => value ?? '')

test('the Dockerfile has no problem by dockerfile-utils, and installs the version of this project', () => {
  expect(validate(dockerfile)).toEqual([])
  expect(linesWith(dockerfile, /^ARG VERSION=(.*)$/gm)).toEqual([version])
  expect(compose).toContain(`image: understudy:${version}\n`)
})

test('the image has a fixed base and a user without privileges, and the program belongs to root', () => {
  expect(linesWith(dockerfile, /^ARG DEBIAN=(.*)$/gm)).toEqual([
    expect.stringMatching(/^debian:\d+\.\d+-slim$/),
  ])
  expect(linesWith(dockerfile, /^USER (.*)$/gm)).toEqual(['10001:10001'])
  expect(dockerfile).toMatch(/^COPY --from=unpack \/unpacked \/opt\/understudy$/m)
  // Neither network nor package manager: the bundle is all that comes in.
  expect(dockerfile.replace(/^#.*$/gm, '')).not.toMatch(/apt|curl|wget|npm|^ADD/m)
})

test('the variables that the image and compose.yaml set are settings', () => {
  const names = [...`${dockerfile}${compose}`.matchAll(/\b(UNDERSTUDY_\w+)[=:] ?(\S+)/g)]
  expect(names.length).toBeGreaterThan(3)
  const variables: NodeJS.ProcessEnv = {}
  for (const [, name = '', value = ''] of names) variables[name] = value.startsWith('${') ? '' : value
  expect(() => checkVariables(variables)).not.toThrow()
})

/** The health check of the image with this port. Resolves with its exit code. */
function healthCheck(port: number): Promise<number | null> {
  const [, command = '[]'] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(dockerfile) ?? []
  const [program, ...args] = JSON.parse(command) as string[]
  expect([program, ...args.slice(0, -1)]).toEqual(['/opt/understudy/bin/node', '--disable-sigusr1', '--eval'])
  const script = args.at(-1)?.replaceAll('8081', String(port)) ?? ''
  // A proxy that nobody listens on.
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' }
  return new Promise((resolve) => spawn(process.execPath, ['--eval', script], { env }).once('close', resolve))
}

test('the health check of the image passes while /livez is 200, and fails at 503 or without a listener', async () => {
  let status = 200
  const paths = new Set<string | undefined>()
  const server = createServer((request, response) => {
    paths.add(request.url)
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const check = (): Promise<number | null> => healthCheck(port)
  expect(await check()).toBe(0)
  status = 503
  expect(await check()).toBe(1)
  expect([...paths]).toEqual(['/livez'])
  await new Promise((resolve) => server.close(resolve))
  expect(await check()).toBe(1)
})

test.skipIf(opensslMissing)('the health check of the image passes under TLS', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-tls-'))
  const { cert, key } = makeTlsFiles(directory, 'name')
  const options = { cert: readFileSync(cert), key: readFileSync(key) }
  const server = createTlsServer(options, (_, response) => response.end()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  expect(await healthCheck((server.address() as AddressInfo).port)).toBe(0)
  server.close()
  rmSync(directory, { recursive: true })
})

test('compose.yaml publishes ports on 127.0.0.1 only, pins every image, and mounts files that exist', () => {
  const ports = linesWith(compose, /^ +- '([^']*:\d+)'$/gm)
  expect(ports).toHaveLength(5)
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  const images = linesWith(compose, /^ +image: (.*)$/gm)
  expect(images).toHaveLength(4)
  expect(images.filter((image) => !/:v?\d+\.\d+\.\d+$/.test(image))).toEqual([])
  const mounted = linesWith(compose, /^ +- \.\/([^:]+):/gm)
  expect(mounted).toHaveLength(5)
  expect(mounted.filter((file) => !existsSync(join(deploy, file)))).toEqual([])
  // Secrets are files, never values.
  expect(compose).not.toMatch(/UNDERSTUDY_API_KEYS:|UNDERSTUDY_ADMIN_TOKEN|GF_SECURITY_ADMIN_PASSWORD:/)
})

test('the addresses in the files of Prometheus are services of compose.yaml, and alerts leave the containers', ({
  skip,
}) => {
  const { services } = parse(compose) as {
    services: Record<string, { command?: string[]; volumes: string[] }>
  }
  const prometheus = read('prometheus/prometheus.yml')
  const targets = linesWith(prometheus.replace(/^#.*$/gm, ''), /targets: \['([^']*)'\]/g)
  expect(targets).toEqual(['alertmanager:9093', 'understudy:8081'])
  expect(targets.filter((target) => services[target.split(':')[0] ?? ''] === undefined)).toEqual([])
  for (const name of ['prometheus', 'alertmanager']) {
    const [, file = ''] = /--config\.file=(\S+)/.exec(services[name]?.command?.join(' ') ?? '') ?? []
    expect(services[name]?.volumes).toContain(`./prometheus/${name}.yml:${file}:ro`)
  }
  const receiver = /url: (\S+)/.exec(read('prometheus/alertmanager.yml'))?.[1] ?? ''
  expect(new URL(receiver).hostname).toBe('alerts.example.org')
  const check = spawnSync('amtool', ['check-config', 'prometheus/alertmanager.yml'], { cwd: deploy })
  if (check.error !== undefined) skip('amtool is not installed')
  expect(check.status, check.stderr.toString()).toBe(0)
})

test('compose.yaml gives the service a read-only root and no privileges', () => {
  const [service = ''] = compose.split('\n  prometheus:\n')
  for (const line of ['read_only: true', 'cap_drop: [ALL]', "security_opt: ['no-new-privileges:true']"])
    expect(service).toContain(`    ${line}\n`)
})

test('compose.yaml limits the service to no less than the machine of docs/operating.md, and as kubernetes.yaml does', () => {
  const { services } = parse(compose) as { services: { understudy: { mem_limit: string; cpus: number } } }
  const { mem_limit: memory, cpus } = services.understudy
  expect(memory).toMatch(/^\d+g$/)
  expect(read('kubernetes.yaml')).toContain(`limits: { memory: ${parseInt(memory)}Gi }`)
  const operating = readFileSync(join(projectDir, 'docs/operating.md'), 'utf8')
  const [, gib] = /Two cores,\s(\d+) GiB of memory/.exec(operating) ?? []
  expect(parseInt(memory)).toBeGreaterThanOrEqual(Number(gib))
  expect(cpus).toBe(2)
})

test('the commands of docs/install.md copy the models once, also for those who use the container first', () => {
  const [, containers = ''] = readFileSync(join(projectDir, 'docs/install.md'), 'utf8').split('\n## Docker\n')
  expect(linesWith(containers, /^cp .* (\/srv\/\S+)/gm)).toEqual(['/srv/understudy-models'])
})

test('docker-compose accepts compose.yaml', ({ skip }) => {
  if (spawnSync('docker-compose', ['--version']).status !== 0) skip('docker-compose is not installed')
  // The version of Debian 12 does not know the member `name` yet.
  const { status, stderr } = spawnSync('docker-compose', ['--file', '-', 'config', '--quiet'], {
    cwd: deploy,
    input: compose.replace(/^name: .*\n/m, ''),
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

test('Prometheus loads the alert rules, and scrapes the service under the job name that they use', ({
  skip,
}) => {
  const config = read('prometheus/prometheus.yml')
  expect(config).toContain('job_name: understudy\n')
  expect(read('prometheus/understudy.rules.yml')).toContain('up{job="understudy"}')
  expect(compose).toContain('hostname: understudy\n')
  const check = spawnSync('promtool', ['check', 'config', 'prometheus/prometheus.yml'], { cwd: deploy })
  if (check.error !== undefined) skip('promtool is not installed')
  expect(check.status, check.stderr.toString()).toBe(0)
})
