/** Mutants of src/history. */
import type { MutantGroup } from './mutant.js'

export const historyMutants: readonly MutantGroup[] = [
  {
    file: 'src/history/session.ts',
    killedBy: ['src/cli/models/activate.test.ts'],
    mutants: [
      {
        breaks: 'a version with other files than a server has loaded is refused',
        find: 'if (known !== undefined && known !== identity)',
        replace: 'if (known !== undefined && known === identity)',
      },
    ],
  },
  {
    file: 'src/history/comparison.ts',
    killedBy: ['src/history/comparison.test.ts'],
    mutants: [
      {
        breaks: 'the overlap counts posts of both, not of one',
        find: '.filter((row) => best.has(row)).length / depth',
        replace: '.length / depth',
      },
      {
        breaks: 'the post whose rank differs most comes first',
        find: 'rankDistance(b) - rankDistance(a) || a.row',
        replace: 'rankDistance(a) - rankDistance(b) || a.row',
      },
    ],
  },
  {
    file: 'src/history/ranking.ts',
    killedBy: ['src/history/ranking.test.ts', 'src/history/comparison.test.ts'],
    mutants: [
      {
        breaks: 'equal scores share the mean of their ranks',
        find: '(from + 1 + to) / 2',
        replace: 'from + 1',
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
    ],
  },
  {
    file: 'src/history/version-scores.ts',
    killedBy: ['src/history/version-scores.test.ts'],
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
        find: 'store.findWeights(weightsVersion)',
        replace: 'store.readWeights(store.weightsCount())',
      },
    ],
  },
  {
    file: 'src/history/replay.ts',
    killedBy: ['src/history/replay.test.ts'],
    mutants: [
      {
        breaks: 'a replay begins with the oldest entry that is needed',
        find: 'Math.min(min, at), position)',
        replace: 'Math.max(min, at), position)',
      },
      {
        breaks: 'a record is kept until its post leaves',
        find: 'if (!needed.has(position)) records.delete(position)',
        replace: 'if (needed.has(position)) records.delete(position)',
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
  {
    file: 'src/history/evaluation/visits.ts',
    killedBy: ['src/history/evaluation/evaluate.test.ts'],
    mutants: [
      {
        breaks: 'a post that is sent again while pending stays in its visit',
        find: 'latest === undefined || !this.#isOpen(latest)',
        replace: 'latest === undefined || this.#isOpen(latest)',
      },
      {
        breaks: 'a post that was pending before the window may be sent again in it',
        find: 'for (const entry of rows.entry) this.#beginBefore(this.#entries.post[entry] as number, entry)',
        replace: '',
      },
      {
        breaks: 'a post that left before the window is not pending in it',
        find: 'for (const post of removals.post) this.#pendingBefore.delete(post)',
        replace: '',
      },
      {
        breaks: 'the visit of a post that only a removal of the window shows counts',
        find: 'removals.post.forEach((post, row) => this.#beginBefore(post, removals.entry[row] as number))',
        replace: '',
      },
    ],
  },
  {
    file: 'src/history/evaluation/ranker-evaluation.ts',
    killedBy: ['src/history/evaluation/evaluate.test.ts', 'src/history/evaluation/evaluation.test.ts'],
    mutants: [
      {
        breaks: 'what was decided at the time of the cycle can no longer be picked',
        find: 'if (cycleMs >= decided) continue',
        replace: 'if (cycleMs > decided) continue',
      },
      {
        breaks: 'a decision at the time of the next cycle is a pick of this one',
        find: 'decided <= nextMs',
        replace: 'decided < nextMs',
      },
      {
        breaks: 'a ranker picks a visit once',
        find: 'this.isPicked[visit] = 1',
        replace: 'this.isPicked[visit] = 0',
      },
      {
        breaks: 'equal scores share their average rank',
        find: '(amongAll.tied + 1) / 2',
        replace: 'amongAll.tied',
      },
    ],
  },
  {
    file: 'src/history/evaluation/rankers.ts',
    killedBy: ['src/history/evaluation/evaluate.test.ts'],
    mutants: [
      {
        breaks: 'a post without views counts as one view',
        find: 'Math.max(views[row] as number, 1)',
        replace: '(views[row] as number)',
      },
    ],
  },
  {
    file: 'src/history/evaluation/breakdowns.ts',
    killedBy: ['src/history/evaluation/evaluate.test.ts'],
    mutants: [
      {
        breaks: 'an open pick is neither right nor wrong',
        find: 'group.picks - group.openPicks',
        replace: 'group.picks',
      },
    ],
  },
  {
    file: 'src/history/recorded-entries.ts',
    killedBy: ['src/history/evaluation/evaluate.test.ts'],
    mutants: [
      {
        breaks: 'a removal ends the visit of the entry that it names',
        find: 'return (entries[row] ??= this.#addUnknown(position))',
        replace: 'return this.#addUnknown(position)',
      },
    ],
  },
  {
    file: 'src/history/explain/explain-score.ts',
    killedBy: ['src/history/explain/explain-score.test.ts'],
    mutants: [
      {
        breaks: 'the largest change comes first',
        find: 'sizeOf(b) - sizeOf(a)',
        replace: 'sizeOf(a) - sizeOf(b)',
      },
      {
        breaks: 'a feature that is never missing is not set to missing',
        find: 'isMissing || missing === null ? null',
        replace: 'isMissing ? null',
      },
      {
        breaks: 'the part of the weights is measured with the later inputs',
        find: 'scoreInputs(earlier.scorer, later.weights, [after])',
        replace: 'scoreInputs(earlier.scorer, later.weights, [before])',
      },
    ],
  },
  {
    file: 'src/history/export/export-store.ts',
    killedBy: ['src/history/export/export.test.ts'],
    mutants: [
      {
        breaks: 'a removal of a post that has left ends no visit',
        find: 'visits.delete(number)',
        replace: '',
      },
      {
        breaks: 'a late cycle is marked',
        find: 'cycleAtMs < this.#newestMs',
        replace: 'cycleAtMs > this.#newestMs',
      },
      {
        breaks: 'the scores of a shadow are those of the scored posts',
        find: "results.filter(({ status }) => status === 'scored')",
        replace: 'results',
      },
    ],
  },
  {
    file: 'src/history/export/schema.ts',
    killedBy: ['src/history/export/export.test.ts'],
    mutants: [
      {
        breaks: 'equal scores share their average rank',
        find: '(${tied} - 1) / 2',
        replace: '0',
      },
    ],
  },
  {
    file: 'src/history/arrival-visits.ts',
    killedBy: ['src/history/export/export.test.ts'],
    mutants: [
      {
        breaks: 'a score names the visit of its time',
        find: 'this.#open.set(gallId, postNo, visit)',
        replace: '',
      },
      {
        breaks: 'a post that comes and leaves with one call has a visit',
        find: 'isCandidate === true ? { position, row: null } : null',
        replace: 'null',
      },
    ],
  },
]
