/** The texts of the view Models, in each language. */
import type { ComponentChildren as Node } from 'preact'

export const en = {
  models: {
    inDirectory: (versions: string, directory: Node, skipped: string | null) => (
      <>
        {versions} in {directory}
        {skipped !== null && `, shadows skipped ${skipped}`}
      </>
    ),
    none: 'The models directory has no package.',
    unlisted: 'The models directory cannot be read:',
    notInUse: 'not in use',
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
}

export const ko: typeof en = {
  models: {
    inDirectory: (versions, directory, skipped) => (
      <>
        {directory}에 {versions}
        {skipped !== null && `, 섀도가 건너뛴 ${skipped}`}
      </>
    ),
    none: '모델 디렉터리에 패키지가 없습니다.',
    unlisted: '모델 디렉터리를 읽을 수 없습니다:',
    notInUse: '사용 안 함',
    failedAt: (time) => `${time} 실패:`,
    fallback: {
      cycles: (failed, time, problem) => (
        <>
          <strong>
            {time}부터 {failed} 버전 대신 쓰고 있습니다.
          </strong>{' '}
          {failed} 버전이 채점에 실패해, 다른 버전을 활성화할 때까지 대신합니다: {problem}
        </>
      ),
      load: (failed, time, problem) => (
        <>
          <strong>
            {time}부터 {failed} 버전 대신 쓰고 있습니다.
          </strong>{' '}
          {failed} 버전을 불러오지 못해, 불러올 수 있을 때까지 대신합니다: {problem}
        </>
      ),
    },
    changed: (how) => (
      <>
        <strong>디스크의 파일이 바뀌었습니다:</strong> {how}. 서버는 이미 불러온 파일을 계속 쓰지만, 다시
        시작하면 바뀐 파일을 거부합니다.
      </>
    ),
    unreadable: '패키지를 읽을 수 없습니다:',
    kind: '종류',
    heads: '예측 항목',
    reads: '입력',
    features: '계산된 입력값',
    runsOn: '실행 장치',
    memory: '메모리',
    timePerCycle: 'cycle당 시간',
    times: (median, p99, cycles) => `${cycles}의 중앙값 ${median}, p99 ${p99}`,
    checks: '점검: 파일, 그래프, 한계, 비용',
    agreement: (version) => `${version} 대비 일치도와 품질`,
    nothingShared: '두 버전이 모두 채점한 cycle이 없습니다.',
    overlap: (share, depth) => `상위 ${depth}건 중 ${share}`,
    cycles: 'cycle',
    cycleRange: (count, from, to) => `${count}개, ${from} ~ ${to}`,
    posts: '글',
    correlation: '순위 상관',
    inCommon: '겹침',
    meanDifference: '평균 차이',
    commands: '명령',
    backTo: (version) => <>이전에 쓰던 {version} 버전으로 되돌리기:</>,
  },
}
