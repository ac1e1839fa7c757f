/**
 * The rules by which versions change, without files, processes or time.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  initialLifecycle,
  retryMsMax,
  retryMsMin,
  transition,
  type Command,
  type Entry,
  type Event,
  type Lifecycle,
  type Role,
} from './machine.js'

/** The machine with its commands so far, as `load a`, and a clock. */
class Run {
  lifecycle: Lifecycle = initialLifecycle
  nowMs = 0
  #commands: Command[] = []

  send(event: Event): this {
    const { next, commands } = transition(this.lifecycle, event, this.nowMs)
    this.lifecycle = next
    this.#commands.push(...commands)
    return this
  }

  select(active: string | null, ...shadows: readonly string[]): this {
    return this.send({ kind: 'selected', active, shadows })
  }

  adopted(version: string, role: Role = 'active'): this {
    return this.send({ kind: 'adopted', id: this.entry(version, role).id })
  }

  fail(version: string, role: Role = 'active'): this {
    return this.send({ kind: 'failed', id: this.entry(version, role).id })
  }

  entry(version: string, role: Role = 'active'): Entry {
    const found = this.lifecycle.entries.find((entry) => entry.version === version && entry.role === role)
    if (found === undefined) throw new Error(`there is no entry of ${version} as ${role}`)
    return found
  }

  /** Commands since the last call. */
  commands(): string[] {
    return this.#commands.splice(0).map(({ kind, entry }) => `${kind} ${entry.version}`)
  }

  states(): string[] {
    return this.lifecycle.entries.map(({ version, state }) => `${version} ${state}`)
  }
}

/** A machine in which `a` serves. */
function serving(...shadows: readonly string[]): Run {
  const run = new Run().select('a', ...shadows).adopted('a')
  run.commands()
  return run
}

describe('the version that ACTIVE names', () => {
  test('is loaded, and serves once it is adopted', () => {
    const run = new Run().select('a')
    expect([run.commands(), run.states()]).toEqual([['load a'], ['a loading']])
    expect(run.adopted('a').states()).toEqual(['a serving'])
    expect(run.select('a').commands()).toEqual([])
  })

  test('takes over from the serving one, which is released only then', () => {
    const run = serving().select('b')
    expect(run.states()).toEqual(['a serving', 'b loading'])
    expect(run.commands()).toEqual(['load b'])
    run.adopted('b')
    expect([run.commands(), run.states()]).toEqual([['release a'], ['b serving']])
  })

  test('cancels the load of another one, and is loaded immediately', () => {
    const run = serving().select('b')
    run.commands()
    run.select('c')
    expect([run.commands(), run.states()]).toEqual([
      ['cancel b', 'load c'],
      ['a serving', 'c loading'],
    ])
  })

  test('cancels another one that hangs when it already serves: a rollback loads nothing', () => {
    const run = serving().select('b')
    const { id } = run.entry('b')
    run.commands()
    expect(run.select('a').commands()).toEqual(['cancel b'])
    // What the cancelled load reports later changes nothing.
    for (const kind of ['adopted', 'failed'] as const) run.send({ kind, id })
    expect([run.commands(), run.states()]).toEqual([[], ['a serving']])
  })

  test('that cannot be read leaves the version serving, and cancels what is loading', () => {
    const run = serving().select('b').select(null)
    expect([run.commands(), run.states()]).toEqual([['load b', 'cancel b'], ['a serving']])
  })

  test('that fails leaves the other serving and is tried again after waits that double up to 30 s', () => {
    const run = serving().select('b')
    for (const waitMs of [1, 2, 4, 8, 16, 30, 30].map((s) => s * 1000)) {
      run.fail('b')
      expect(run.states()).toEqual(['a serving', 'b failed'])
      expect(run.entry('b').failure).toMatchObject({ retryMs: waitMs })
      run.commands()
      run.nowMs += waitMs - 1
      expect(run.select('b').commands()).toEqual([])
      run.nowMs += 1
      expect(run.select('b').commands()).toEqual(['load b'])
    }
  })

  test('keeps the wait after its last failure when it serves', () => {
    const run = new Run().select('a').fail('a')
    run.nowMs = retryMsMin
    run.select('a').adopted('a')
    expect(run.entry('a')).toMatchObject({ state: 'serving', failure: { retryMs: retryMsMin } })
  })

  test('that failed and is no longer named has no state', () => {
    expect(serving().select('b').fail('b').select('a').states()).toEqual(['a serving'])
  })
})

describe('the versions that SHADOW names', () => {
  test('wait for the version that ACTIVE names, and are loaded one after the other', () => {
    const run = new Run().select('a', 's', 't')
    expect(run.commands()).toEqual(['load a'])
    expect(run.adopted('a').commands()).toEqual(['load s'])
    run.adopted('s', 'shadow')
    expect([run.commands(), run.states()]).toEqual([['load t'], ['a serving', 's shadow', 't loading']])
  })

  test('do not wait for one that fails: the next is loaded immediately', () => {
    expect(serving('s', 't').fail('s', 'shadow').commands()).toEqual(['load t'])
  })

  test('are released when they are no longer named, and a load of them is cancelled', () => {
    const run = serving('s', 't').adopted('s', 'shadow')
    run.commands()
    expect(run.select('a').commands()).toEqual(['release s', 'cancel t'])
    expect(run.states()).toEqual(['a serving'])
  })

  test('do not change while SHADOW cannot be read', () => {
    const run = serving('s').adopted('s', 'shadow')
    run.commands()
    run.send({ kind: 'selected', active: 'a', shadows: null })
    expect([run.commands(), run.states()]).toEqual([[], ['a serving', 's shadow']])
  })

  test('swap roles with the serving version', () => {
    const run = serving('a', 'b').adopted('b', 'shadow')
    expect(run.states()).toEqual(['a serving', 'b shadow'])
    run.select('b', 'a', 'b')
    run.commands()
    run.adopted('b')
    expect(run.commands()).toEqual(['release a', 'release b', 'load a'])
    expect(run.states()).toEqual(['b serving', 'a loading'])
  })

  test('do not delay a change of ACTIVE: a shadow and a new version load at the same time', () => {
    const run = serving('s').select('b', 's')
    expect([run.commands(), run.states()]).toEqual([['load b'], ['a serving', 's loading', 'b loading']])
  })
})

test('closing cancels loads, releases models in use, and ignores later events', () => {
  const run = serving('s').adopted('s', 'shadow').select('b', 's')
  run.commands()
  run.send({ kind: 'closed' })
  expect(run.commands().sort()).toEqual(['cancel b', 'close a', 'close s'])
  expect(run.select('c').commands()).toEqual([])
  expect(run.states()).toEqual([])
})

/** A change of the files, the result of a load under way, or time that passes. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('select' as const),
    active: fc.constantFrom('a', 'b', 'c', null),
    shadows: fc.option(fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 })),
  }),
  fc.record({ kind: fc.constant('result' as const), pick: fc.nat(5), isGood: fc.boolean() }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(2 * retryMsMax) }),
)

test('in any order of events, every load ends in one release, cancel or failure, and the named versions finally score', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let lifecycle = initialLifecycle
      let nowMs = 0
      /** Loads and models of which an end is due, by entry. */
      const open = new Map<number, string>()
      const send = (event: Event): void => {
        const { next, commands } = transition(lifecycle, event, nowMs)
        lifecycle = next
        for (const { kind, entry } of commands) {
          expect(open.has(entry.id), `${kind} ${entry.version}`).toBe(kind !== 'load')
          if (kind === 'load') open.set(entry.id, entry.version)
          else open.delete(entry.id)
        }
        const inUse = lifecycle.entries.filter(({ state }) => state === 'serving' || state === 'shadow')
        expect(inUse.filter(({ state }) => state === 'serving').length).toBeLessThanOrEqual(1)
        expect(new Set(inUse.map(({ version }) => version)).size).toBe(inUse.length)
        for (const { id } of inUse) expect(open.has(id)).toBe(true)
      }
      const result = (entry: Entry, isGood: boolean): void => {
        if (!isGood) open.delete(entry.id)
        send({ kind: isGood ? 'adopted' : 'failed', id: entry.id })
      }
      const loading = (): Entry[] => lifecycle.entries.filter(({ state }) => state === 'loading')
      for (const one of steps) {
        if (one.kind === 'wait') nowMs += one.ms
        if (one.kind === 'select') send({ kind: 'selected', active: one.active, shadows: one.shadows })
        const entry = one.kind === 'result' ? loading()[one.pick] : undefined
        if (one.kind === 'result' && entry !== undefined) result(entry, one.isGood)
      }

      // From any state, good loads lead to what is named.
      nowMs += retryMsMax
      send({ kind: 'selected', active: 'a', shadows: ['b', 'c'] })
      for (let count = 0; count < 20; count++) for (const entry of loading().slice(0, 1)) result(entry, true)
      expect(lifecycle.entries.map(({ version, state }) => `${version} ${state}`).sort()).toEqual([
        'a serving',
        'b shadow',
        'c shadow',
      ])
    }),
  )
})
