/**
 * A model is tried on the pending posts before it scores. A failure keeps it from replacing another one, and is a
 * warning if no other one serves, and for a shadow.
 */
import { beforeEach, expect, test } from 'vitest'
import { silentLog } from '../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../test/helpers/bodies.js'
import { serviceParts } from '../../test/helpers/cycle-service.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import '../../test/helpers/poisoned-memory.js'
import { cycleBoundaryMs } from '../contract/index.js'
import { CycleService } from './service.js'
import { StageClock } from './stage-clock.js'
import { RequestBody } from './intake/index.js'

let model: FakeModel
let service: CycleService
let warnings: unknown[]

beforeEach(async () => {
  model = new FakeModel()
  warnings = []
  service = await CycleService.open(
    serviceParts({
      model: () => model,
      log: { ...silentLog, warn: (fields, message) => warnings.push([fields, message]) },
    }),
  )
  const [unread, ...read] = [1, 2, 3]
  await service.intake.submit(
    new RequestBody(
      bytesOf(
        cycleBody(0, {
          candidates: [unread, ...read].map((post) => candidate('g', post)),
          engagement: read.map((post) => reading('g', post, cycleMs(0), { views: 10 * post })),
        }),
      ),
    ),
    cycleMs(1000),
    new StageClock(0),
  )
})

test('it scores their latest readings, as of the last cycle and of the next one', async () => {
  const next = new FakeModel()
  await service.models.adopt(next, model, () => undefined)
  expect(next.seen.map(({ cycleAtMs }) => cycleAtMs)).toEqual([cycleMs(0), cycleMs(0) + cycleBoundaryMs])
  for (const { count, slots, readings, engagement } of next.seen) {
    expect([...slots.subarray(0, count)]).toEqual([1, 2])
    expect([...readings].map((row) => engagement.views[row])).toEqual([20, 30])
  }
})

test('it does not take over when it fails on a post, and the error names version, post and problem', async () => {
  const next = new FakeModel()
  next.wrongRow = 1
  let hasTakenOver = false
  await expect(service.models.adopt(next, model, () => (hasTakenOver = true))).rejects.toThrow(
    'fake-1, the pending posts, post g/3: head p_up: row',
  )
  expect(hasTakenOver).toBe(false)
})

const problem = 'fake-1, the pending posts, post g/3: head p_up: row'

test('the first model takes over anyway, because only a cycle can remove a post that it fails on', async () => {
  const first = new FakeModel()
  first.wrongRow = 1
  let hasTakenOver = false
  await service.models.adopt(first, null, () => (hasTakenOver = true))
  expect(hasTakenOver).toBe(true)
  expect(warnings).toEqual([
    [{ model_version: 'fake-1', problem }, 'the model fails on pending posts; cycles get 503'],
  ])
})

test('a shadow that fails on a post is added with a warning', async () => {
  const shadow = new FakeModel()
  shadow.wrongRow = 1
  await service.models.addShadow(shadow)
  expect(service.models.shadows.count).toBe(1)
  expect(warnings).toEqual([
    [{ model_version: 'fake-1', problem }, 'the shadow fails on pending posts and will skip cycles'],
  ])
})

test('models that score all pending posts are no warning', async () => {
  await service.models.adopt(new FakeModel(), null, () => undefined)
  await service.models.addShadow(new FakeModel())
  expect(warnings).toEqual([])
})

test('a shadow that is removed while it is tried is not a warning', async () => {
  const shadow = new FakeModel()
  shadow.wrongRow = 1
  await expect(service.models.addShadow(shadow, AbortSignal.abort(new Error('removed')))).rejects.toThrow(
    'removed',
  )
  expect(warnings).toEqual([])
})
