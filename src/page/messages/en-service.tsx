/** The English texts of the views that show the service: Models and Cycles. */
import type { ComponentChildren as Node } from 'preact'

/** `1 call`, `1,234 calls`; `count` is written by the caller. */
export function plural(count: number, written: string, noun: string): string {
  return `${written} ${noun}${count === 1 ? '' : 's'}`
}

export const serviceEn = {
  models: {
    inDirectory: (versions: string, directory: Node, skipped: string | null) => (
      <>
        {versions} in {directory}
        {skipped !== null && `, shadows skipped ${skipped}`}
      </>
    ),
    none: 'The models directory has no package.',
    notInUse: 'not in use',
    transportTest: 'transport test',
    failedAt: (time: string) => `Failed ${time} KST:`,
    fallback: {
      cycles: (failed: Node, time: string, problem: Node) => (
        <>
          <strong>
            Serves instead of {failed} since {time} KST,
          </strong>{' '}
          which failed its cycles, until a version is activated: {problem}
        </>
      ),
      load: (failed: Node, time: string, problem: Node) => (
        <>
          <strong>
            Serves instead of {failed} since {time} KST,
          </strong>{' '}
          which cannot be loaded, until it can: {problem}
        </>
      ),
    },
    changed: (how: Node) => (
      <>
        <strong>Changed on disk:</strong> {how}. The server keeps the files that it has loaded; a restart
        refuses the changed ones.
      </>
    ),
    unreadable: 'The package cannot be read:',
    kind: 'Kind',
    heads: 'Heads',
    reads: 'Reads',
    features: 'features',
    runsOn: 'Runs on',
    memory: 'Memory',
    timePerCycle: 'Time per cycle',
    times: (median: string, p99: string, cycles: string) => `${median} median, ${p99} p99 of ${cycles}`,
    checks: 'Checks: files, graphs, limits, cost',
    agreement: (version: string) => `Agreement with ${version}, and quality`,
    nothingShared: 'No cycle has scores of both versions.',
    overlap: (share: string, depth: string) => `${share} of the best ${depth}`,
    cycles: 'Cycles',
    cycleRange: (count: string, from: string, to: string) => `${count}, ${from} to ${to}`,
    posts: 'Posts',
    correlation: 'Rank correlation',
    inCommon: 'In common',
    meanDifference: 'Mean difference',
    commands: 'Commands',
    backTo: (version: Node) => <>Back to {version}, which scored before:</>,
  },

  cycles: {
    listed: 'What is listed',
    calls: 'Calls',
    other: 'Other refusals',
    stored: 'Stored',
    result: 'Result',
    filters: {
      all: 'all',
      scored: 'scored',
      late: 'late',
      warned: 'warned',
      repeated: 'repeated',
      refused: 'refused',
      failed: 'failed',
    },
    noCall: 'No call since the service started.',
    noMatch: 'No call matches.',
    callsCaption: 'Calls, newest first',
    time: 'Time',
    cycle: 'Cycle',
    took: 'Took',
    stages: 'Stages',
    scored: 'Scored',
    waiting: 'Waiting',
    notScored: 'Not scored',
    model: 'Model',
    late: 'late',
    storedCount: (cycles: number, written: string) => plural(cycles, written, 'stored cycle'),
    noneStored: 'The store has no cycle.',
    storedCaption: 'Stored cycles, newest first',
    arrived: 'Arrived',
    weights: 'Weights',
    download: 'Download',
    callDetails: 'Details of the call',
    storedDetails: 'Details of the stored cycle',
    cycleTitle: (cycle: string) => `Cycle ${cycle}`,
    scoredAt: 'Scored',
    missingFeatures: 'Missing features',
    stagesUnknown:
      'Stages are known only for cycles since the service started: those are under Calls. The log of the service has the others.',
    rows: 'Rows',
    warnings: 'Warnings',
    operation: 'Operation',
    lateResult: (result: string) => `${result}, late`,
    status: 'Status',
    disconnected: 'the client disconnected',
    request: 'Request',
    response: 'Response',
    trace: 'Trace',
    ofCycle: (cycle: string) => `of ${cycle}`,
  },
}
