/**
 * Alerts from the service to the person: a real Prometheus scrapes a real server and evaluates the rules of deploy/, a real
 * Alertmanager delivers what fires to a webhook of this test, and what is repaired is resolved. The queries of the dashboard
 * return data. Skipped, with one line, without the programs.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs, epochMs, reading } from '../helpers/bodies.js'
import { Monitoring, prometheusMissing } from '../helpers/prometheus.js'
import { freePort, projectDir, ServerProcess } from '../harness/server.js'
import { ended, scratchDir, started } from '../helpers/servers.js'

if (prometheusMissing)
  console.log('skipped: test/system/alerts.test.ts needs prometheus and prometheus-alertmanager')

const isRoot = process.platform === 'linux' && process.getuid?.() === 0
const canMount = isRoot && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0
const patience = { timeout: 120_000, interval: 100 }
const model = 'transport-test-1'

let monitoring: Monitoring | null = null
afterEach(async () => {
  await monitoring?.stop()
  monitoring = null
})

/** The cycle of an instant, with one post that is new and scored. */
function cycleAt(ms: number) {
  const index = Math.floor((ms - epochMs) / 300_000)
  const times = { created_at: isoOf(ms - 600_000), extracted_at: isoOf(ms - 60_000) }
  return cycleBody(index, {
    candidates: [candidate('g', index, times)],
    engagement: [reading('g', index, cycleMs(index))],
  })
}

const isoOf = (ms: number): string => new Date(ms + 9 * 3_600_000).toISOString().replace(/\.\d+Z$/, '+09:00')

describe.skipIf(prometheusMissing)('a real Prometheus with the files of deploy/prometheus', () => {
  test.skipIf(!canMount)(
    'no cycles, a missing model and a full disk reach the operator with their action, and so do their ends',
    async () => {
      const scratch = scratchDir()
      const dataDir = join(scratch, 'data')
      mkdirSync(dataDir, { mode: 0o700 })
      const mount = (options: string): Buffer =>
        execFileSync('mount', ['-t', 'tmpfs', '-o', `mode=0700,${options}`, 'tmpfs', dataDir])
      mount('size=1g')
      try {
        await alertsFireAndResolve(scratch, dataDir, () => mount('remount,size=4g'))
      } finally {
        execFileSync('umount', ['-l', dataDir])
      }
    },
  )

  test('the queries of the dashboard return data with the labels of their legends', async () => {
    const adminPort = await freePort()
    const server = await started({ UNDERSTUDY_ADMIN_PORT: String(adminPort) })
    const prometheus = await Monitoring.start(join(scratchDir(), 'monitoring'), adminPort, server.adminToken)
    monitoring = prometheus
    const scrapes = async (): Promise<number> =>
      Number((await prometheus.query('count_over_time(up[1h])'))[0]?.value[1] ?? 0)
    await vi.waitUntil(async () => (await scrapes()) > 0, patience)
    // Rates need a scrape before and after.
    const now = Date.now()
    for (const index of [2, 1, 0]) {
      const reply = await server.postCycle(cycleAt(now - index * 300_000))
      expect(reply.status, reply.text).toBe(200)
    }
    const before = await scrapes()
    await vi.waitUntil(async () => (await scrapes()) > before + 2, patience)
    const queries = dashboardQueries()
    expect(queries.length).toBeGreaterThan(20)
    const empty: string[] = []
    for (const { title, expression, labels } of queries) {
      const result = await prometheus.query(expression)
      const hasValue = result.some(({ value }) => Number.isFinite(Number(value[1])))
      const hasLabels = result.every(({ metric }) => labels.every((label) => label in metric))
      if (!hasValue || !hasLabels) empty.push(`${title}: ${expression}: ${JSON.stringify(result)}`)
    }
    expect(empty).toEqual([])
  })
})

async function alertsFireAndResolve(scratch: string, dataDir: string, growDisk: () => void): Promise<void> {
  const modelsDir = join(scratch, 'models')
  cpSync(join(projectDir, 'models', model), join(modelsDir, model), { recursive: true })
  writeFileSync(join(modelsDir, 'ACTIVE'), `${model}\n`)
  const adminPort = await freePort()
  const env = { UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_ADMIN_PORT: String(adminPort) }

  // A server receives a cycle twenty minutes ago: its clock is late, and nothing else.
  const earlierMs = Date.now() - 20 * 60_000
  const earlier = ended(new ServerProcess(env, { dataDir, preloads: ['clock'] }))
  earlier.setClock(earlierMs)
  await earlier.start()
  const first = await earlier.postCycle(cycleAt(earlierMs))
  expect(first.status, first.text).toBe(200)
  await earlier.kill('SIGTERM')

  // It starts again without its model.
  renameSync(join(modelsDir, model), join(scratch, model))
  const server = ended(new ServerProcess(env, { dataDir }))
  await server.start()
  monitoring = await Monitoring.start(join(scratch, 'monitoring'), adminPort, server.adminToken)
  const { delivered } = monitoring
  const isInState = (state: 'firing' | 'resolved'): boolean =>
    ['UnderstudyNoCycles', 'UnderstudyNotReady', 'UnderstudyDiskLow'].every(
      (name) => monitoring?.states[name] === state,
    )
  await vi.waitUntil(() => isInState('firing'), patience)

  growDisk()
  renameSync(join(scratch, model), join(modelsDir, model))
  await vi.waitUntil(async () => (await server.postCycle(cycleAt(Date.now()))).status === 200, patience)
  await vi.waitUntil(() => isInState('resolved'), patience)

  for (const { annotations } of delivered) {
    expect(annotations.action).toMatch(/.{20}/)
    expect(annotations.runbook).toMatch(/^docs\/operating\.md#understudy/)
  }
  const { groups } = await monitoring.api<{ groups: { rules: { name: string; health: string }[] }[] }>(
    'rules',
  )
  const rules = groups.flatMap((group) => group.rules)
  expect(rules.length).toBeGreaterThan(15)
  expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
}

interface DashboardQuery {
  readonly title: string
  readonly expression: string
  /** Of the legend. */
  readonly labels: readonly string[]
}

function dashboardQueries(): DashboardQuery[] {
  const text = readFileSync(join(projectDir, 'deploy/grafana/understudy.json'), 'utf8')
  const { panels } = JSON.parse(text) as {
    panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[]
  }
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      title,
      expression: expr,
      labels: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
    })),
  )
}
