/** Mutants of src/history. */
import type { MutantGroup } from './mutant.js'

export const historyMutants: readonly MutantGroup[] = [
  {
    file: 'src/history/comparison.ts',
    killedBy: ['src/history/comparison.test.ts'],
    mutants: [
      {
        breaks: 'equal scores share the mean of their ranks',
        find: '(from + 1 + to) / 2',
        replace: 'from + 1',
      },
      {
        breaks: 'the overlap counts posts of both, not of one',
        find: '.filter((row) => best.has(row)).length / depth',
        replace: '.length / depth',
      },
      {
        breaks: 'a model with one score for all posts has no correlation',
        find: 'return ofA > 0 && ofB > 0 ? both',
        replace: 'return ofA >= 0 && ofB >= 0 ? both',
      },
      {
        breaks: 'quantiles lie between two values in proportion',
        find: '(place - Math.floor(place))',
        replace: '0.5',
      },
      {
        breaks: 'the post whose rank differs most comes first',
        find: 'rankDistance(b) - rankDistance(a) || a.row',
        replace: 'rankDistance(a) - rankDistance(b) || a.row',
      },
    ],
  },
  {
    file: 'src/history/score-pairs.ts',
    killedBy: ['src/history/score-pairs.test.ts'],
    mutants: [
      {
        breaks: 'a replay has the scored posts of its response',
        find: 'return next.postNo[slot] === postNo && gallIdAt(next, slot) === gallId',
        replace: 'return next.postNo[slot] !== postNo',
      },
      {
        breaks: 'the scores of a shadow are read, not computed again',
        find: "=== undefined ? 'replay' : 'shadow'",
        replace: "=== undefined ? 'replay' : 'replay'",
      },
      {
        breaks: 'the weights are those of the cycle',
        find: 'history.find(({ version }) => version === weightsVersion)',
        replace: 'history.at(-1)',
      },
    ],
  },
  {
    file: 'src/history/replay.ts',
    killedBy: ['src/history/replay.test.ts'],
    mutants: [
      {
        breaks: 'a replay begins with the oldest entry that is needed',
        find: 'first = Math.min(first, at)',
        replace: 'first = Math.max(first, at)',
      },
      {
        breaks: 'a record is kept until its post leaves',
        find: 'if (!needed.has(position)) records.delete(position)',
        replace: 'if (needed.has(position)) records.delete(position)',
      },
      {
        breaks: 'posts that entered again are pending, not departed',
        find: 'for (const name of savedNames(store.readEntered(at))) names.delete(name)',
        replace: '',
      },
    ],
  },
  {
    file: 'src/history/verify-cycles.ts',
    killedBy: ['src/history/verify-cycles.test.ts'],
    mutants: [
      {
        breaks: 'a response of another model is reported',
        find: "if (response.model_version !== stored.modelVersion) report('the response names another model')",
        replace: '',
      },
      {
        breaks: 'a count of results that is wrong is reported',
        find: 'if (counts.results !== results.length)',
        replace: 'if (counts.results < results.length)',
      },
      {
        breaks: 'a pending post with another reading is reported',
        find: 'isSameGroup(a.latest, b.latest) &&',
        replace: '',
      },
      {
        breaks: 'departures that differ from the request are reported',
        find: 'if (!departuresMatch) report(',
        replace: 'if (entriesMatch && false) report(',
      },
      {
        breaks: 'a request of another time is reported',
        find: "if (cycle.cycleAt.ms !== stored.cycleAtMs) report('the request has another cycle_time')",
        replace: '',
      },
    ],
  },
]
