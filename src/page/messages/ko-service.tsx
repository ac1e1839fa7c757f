/** The Korean texts of the views that show the service: Models and Cycles. */
import type { serviceEn } from './en-service.js'

export const serviceKo: typeof serviceEn = {
  models: {
    inDirectory: (versions, directory, skipped) => (
      <>
        {directory}에 {versions}
        {skipped !== null && `, 섀도가 건너뛴 ${skipped}`}
      </>
    ),
    none: '모델 디렉터리에 패키지가 없습니다.',
    notInUse: '사용 안 함',
    transportTest: '전송 시험용',
    failedAt: (time) => `${time} 실패:`,
    fallback: {
      cycles: (failed, time, problem) => (
        <>
          <strong>
            {time}부터 {failed} 대신 사용 중.
          </strong>{' '}
          {failed} 버전이 채점에 실패해, 다른 버전을 활성화할 때까지 대신합니다: {problem}
        </>
      ),
      load: (failed, time, problem) => (
        <>
          <strong>
            {time}부터 {failed} 대신 사용 중.
          </strong>{' '}
          {failed} 버전을 불러오지 못해, 불러올 수 있을 때까지 대신합니다: {problem}
        </>
      ),
    },
    changed: (how) => (
      <>
        <strong>디스크의 파일이 바뀜:</strong> {how}. 서버는 이미 불러온 파일을 계속 쓰지만, 다시 시작하면
        바뀐 파일을 거부합니다.
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
    times: (median, p99, cycles) => `중앙값 ${median}, p99 ${p99} (${cycles})`,
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

  cycles: {
    listed: '목록 종류',
    calls: '호출',
    other: '기타 거부',
    stored: '저장됨',
    result: '결과',
    filters: {
      all: '전체',
      scored: '채점됨',
      late: '지연',
      warned: '경고 있음',
      repeated: '재전송',
      refused: '거부',
      failed: '실패',
    },
    noCall: '서비스를 시작한 뒤 호출이 없습니다.',
    noMatch: '조건에 맞는 호출이 없습니다.',
    callsCaption: '호출, 최신순',
    time: '시각',
    cycle: 'cycle',
    took: '처리 시간',
    stages: '단계',
    scored: '채점',
    waiting: '수치 대기',
    notScored: '채점 제외',
    model: '모델',
    late: '지연',
    storedCount: (_, written) => `저장된 cycle ${written}개`,
    noneStored: '저장된 cycle이 없습니다.',
    storedCaption: '저장된 cycle, 최신순',
    arrived: '도착',
    weights: '가중치',
    download: '내려받기',
    callDetails: '호출 상세',
    storedDetails: '저장된 cycle 상세',
    cycleTitle: (cycle) => `cycle ${cycle}`,
    scoredAt: '채점',
    missingFeatures: '누락된 입력값',
    stagesUnknown:
      '단계별 시간은 서비스를 시작한 뒤의 cycle만 알 수 있으며 호출 목록에 있습니다. 나머지는 서비스 로그에 있습니다.',
    rows: '행 수',
    warnings: '경고',
    operation: '작업',
    lateResult: (result) => `${result}, 지연`,
    status: '상태 코드',
    disconnected: '클라이언트가 연결을 끊음',
    request: '요청',
    response: '응답',
    trace: '추적 ID',
    ofCycle: (cycle) => `cycle ${cycle}`,
  },
}
