/**
 * The rules by which versions change, without files, processes or time.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { VersionRole } from '../../contract/index.js'
import {
  fallbackInEffect,
  initialLifecycle,
  retryMsMax,
  retryMsMin,
  transition,
  type Command,
  type Entry,
  type Event,
  type Lifecycle,
} from './machine.js'

/** The machine with its commands so far, as `load a`, and a clock. */
class Run {
  lifecycle: Lifecycle = initialLifecycle
  nowMs = 0
  #commands: Command[] = []
  #writeCount = 0

  send(event: Event): this {
    const { next, commands } = transition(this.lifecycle, event, this.nowMs)
    this.lifecycle = next
    this.#commands.push(...commands)
    return this
  }

  select(active: string | null, ...shadows: readonly string[]): this {
    return this.send({ kind: 'selected', active, stamp: active && `${active} ${this.#writeCount}`, shadows })
  }

  /** Writes `ACTIVE`, whatever it named before. */
  write(active: string, ...shadows: readonly string[]): this {
    this.#writeCount++
    return this.select(active, ...shadows)
  }

  abandon(failed: string, version: string): this {
    return this.send({ kind: 'abandoned', failed, version })
  }

  adopted(version: string, role: VersionRole = 'active'): this {
    return this.send({ kind: 'adopted', id: this.entry(version, role).id })
  }

  fail(version: string, role: VersionRole = 'active'): this {
    return this.send({ kind: 'failed', id: this.entry(version, role).id })
  }

  entry(version: string, role: VersionRole = 'active'): Entry {
    const match = this.lifecycle.entries.find((entry) => entry.version === version && entry.role === role)
    if (match === undefined) throw new Error(`there is no entry of ${version} as ${role}`)
    return match
  }

  /** Commands since the last call. */
  commands(): string[] {
    return this.#commands.splice(0).map(({ kind, entry }) => `${kind} ${entry.version}`)
  }

  get inEffect(): string | null {
    const fallback = fallbackInEffect(this.lifecycle)
    return fallback && `${fallback.version} instead of ${fallback.failed}`
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
    run.send({ kind: 'selected', active: 'a', stamp: 'a 0', shadows: null })
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

describe('a version that failed its cycles', () => {
  /** `b` serves after `a`, and was abandoned. */
  const abandoned = (...shadows: readonly string[]): Run => {
    const run = serving(...shadows)
      .select('b', ...shadows)
      .adopted('b')
    run.commands()
    return run.abandon('b', 'a')
  }

  test('serves until the one before it has been loaded again, and is then failed until ACTIVE is written', () => {
    const run = abandoned()
    expect([run.commands(), run.states()]).toEqual([['load a'], ['b serving', 'a loading']])
    run.adopted('a')
    expect([run.commands(), run.states()]).toEqual([['release b'], ['a serving', 'b failed']])
    run.nowMs = 10 * retryMsMax
    expect(run.select('b').commands()).toEqual([])
    run.write('b')
    expect([run.commands(), run.states()]).toEqual([['load b'], ['a serving', 'b loading']])
    expect(run.adopted('b').commands()).toEqual(['release a'])
  })

  test('is replaced by the one before it until ACTIVE names another one, or it serves', () => {
    const run = abandoned().adopted('a').write('b').fail('b')
    expect([run.states(), run.inEffect]).toEqual([['a serving', 'b failed'], 'a instead of b'])
    run.commands()
    const { fallback } = run.lifecycle
    run.nowMs = retryMsMin
    expect([run.select('b').commands(), run.inEffect]).toEqual([['load b'], 'a instead of b'])
    expect(run.lifecycle.fallback).toBe(fallback)
    expect([run.adopted('b').states(), run.inEffect]).toEqual([['b serving'], null])
    const other = abandoned().adopted('a').write('b').select('c').fail('c')
    expect([other.states(), other.inEffect]).toEqual([['a serving', 'c failed'], null])
    const early = abandoned().write('b').adopted('a')
    expect([early.states(), early.inEffect]).toEqual([['a serving', 'b loading'], 'a instead of b'])
  })

  test('is replaced once: the version before it is never replaced by it', () => {
    const run = abandoned().adopted('a').abandon('a', 'b').abandon('a', 'z')
    run.commands()
    expect([run.select('b').commands(), run.states()]).toEqual([[], ['a serving', 'b failed']])
  })

  test('continues to serve if the one before it cannot be loaded, which is tried again', () => {
    const run = abandoned().fail('a')
    run.commands()
    expect(run.states()).toEqual(['b serving', 'a failed'])
    run.nowMs = retryMsMin
    expect(run.select('b').commands()).toEqual(['load a'])
  })

  test('continues to serve if it scores again first', () => {
    const run = abandoned()
    run.commands()
    run.send({ kind: 'scored', version: 'b' })
    expect([run.commands(), run.states()]).toEqual([['cancel a'], ['b serving']])
    // Once it was replaced, a late score changes nothing.
    run.abandon('b', 'a').adopted('a').send({ kind: 'scored', version: 'b' })
    expect(run.states()).toEqual(['a serving', 'b failed'])
  })

  test('is forgotten when ACTIVE names another one: that one is loaded, or serves already', () => {
    const other = abandoned().adopted('a').select('c')
    expect(other.states()).toEqual(['a serving', 'c loading'])
    const rolledBack = abandoned().adopted('a')
    rolledBack.commands()
    expect([rolledBack.select('a').commands(), rolledBack.states()]).toEqual([[], ['a serving']])
    const early = abandoned().select('c')
    expect([early.commands(), early.states()]).toEqual([
      ['load a', 'cancel a', 'load c'],
      ['b serving', 'c loading'],
    ])
  })

  test('stays failed while ACTIVE is deleted, and when the same file is back', () => {
    const run = abandoned().adopted('a').select(null)
    run.commands()
    expect([run.select('b').commands(), run.states()]).toEqual([[], ['a serving', 'b failed']])
    expect(run.select(null).write('b').states()).toEqual(['a serving', 'b loading'])
  })

  test('is not replaced by the version that ACTIVE names: that one is being loaded', () => {
    const run = serving().select('b')
    run.commands()
    expect(run.abandon('a', 'b').commands()).toEqual([])
    expect(run.adopted('b').states()).toEqual(['b serving'])
    expect(run.lifecycle.fallback).toBeNull()
  })

  test('is replaced while another swap loads or fails, which still takes over when it succeeds', () => {
    const run = serving().select('b').adopted('b').select('c').abandon('b', 'a')
    expect(run.states()).toEqual(['b serving', 'c loading', 'a wanted'])
    run.commands()
    expect(run.fail('c').commands()).toEqual(['load a'])
    expect(run.adopted('a').states()).toEqual(['c failed', 'a serving'])
    run.nowMs = retryMsMin
    run.select('c').commands()
    expect(run.adopted('c').states()).toEqual(['c serving'])
    expect(run.lifecycle.fallback).toBeNull()
  })

  test('and the one before it, as shadows, keep their rules', () => {
    const run = abandoned('a').adopted('a', 'shadow')
    expect(run.states()).toEqual(['b serving', 'a shadow', 'a loading'])
    expect(run.adopted('a').states()).toEqual(['a serving', 'b failed'])
    expect(run.select('b', 'b').states()).toEqual(['a serving', 'b failed', 'b loading'])
  })

  test('that could not be loaded at the start is tried until the one before it serves', () => {
    const run = new Run().select('b').fail('b').abandon('b', 'a')
    expect(run.states()).toEqual(['b failed', 'a loading'])
    run.fail('a').commands()
    run.nowMs = retryMsMin
    expect(run.select('b').commands()).toEqual(['load b'])
    run.fail('b').adopted('a').commands()
    run.nowMs = retryMsMax
    expect([run.select('b').commands(), run.states()]).toEqual([[], ['a serving', 'b failed']])
  })

  test('before a restart is not tried again, unless the one before it cannot be loaded', () => {
    const restarted = (stamp: string): Run => {
      const run = new Run()
      const fallback = { version: 'a', failed: 'b', cause: 'cycles' as const, stamp, isTriedAgain: false }
      run.lifecycle = { ...initialLifecycle, fallback }
      return run.select('b')
    }
    const run = restarted('b 0')
    expect([run.commands(), run.states()]).toEqual([['load a'], ['a loading', 'b wanted']])
    expect(run.adopted('a').states()).toEqual(['a serving', 'b failed'])
    expect(restarted('b 0').fail('a').commands()).toEqual(['load a', 'load b'])
    // ACTIVE was written in between.
    const written = restarted('another').adopted('a')
    expect([written.states(), written.inEffect]).toEqual([['a serving', 'b loading'], 'a instead of b'])
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
  fc.record({
    kind: fc.constantFrom('abandoned' as const, 'scored' as const),
    failed: fc.constantFrom('a', 'b', 'c'),
    version: fc.constantFrom('a', 'b', 'c'),
  }),
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
        if (one.kind === 'select')
          send({ kind: 'selected', active: one.active, stamp: one.active, shadows: one.shadows })
        if (one.kind === 'abandoned' || one.kind === 'scored') send(one)
        const entry = one.kind === 'result' ? loading()[one.pick] : undefined
        if (one.kind === 'result' && entry !== undefined) result(entry, one.isGood)
      }

      // From any state, good loads lead to what is named.
      nowMs += retryMsMax
      send({ kind: 'selected', active: 'a', stamp: 'written again', shadows: ['b', 'c'] })
      for (let count = 0; count < 20; count++) for (const entry of loading().slice(0, 1)) result(entry, true)
      expect(lifecycle.entries.map(({ version, state }) => `${version} ${state}`).sort()).toEqual([
        'a serving',
        'b shadow',
        'c shadow',
      ])
    }),
  )
})
