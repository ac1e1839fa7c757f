/** The frame around the views: units, navigation, states of the connection, help, placeholders, names of what is read. */
import type { ComponentChildren as Node } from 'preact'
import { plural } from './plural.js'

export const en = {
  /** Names of the language itself, and of the other one in the switch. */
  language: { tag: 'en', name: 'English', other: '한', change: 'Language: English. 한국어로 바꾸기' },

  units: {
    second: (count: string) => `${count} s`,
    minute: (count: string) => `${count} min`,
    hour: (count: string) => `${count} h`,
    day: (count: string) => `${count} d`,
    ago: (span: string) => `${span} ago`,
    in: (span: string) => `in ${span}`,
    sinceKst: (clock: string) => `since ${clock} KST`,
    kst: (time: string) => `${time} KST`,
    range: (low: string, high: string) => `${low} to ${high}`,
    points: (count: string) => `${count} pp`,
    perHour: (count: string) => `${count}/h`,
    cycles: (count: number, written: string) => plural(count, written, 'cycle'),
    calls: (count: number, written: string) => plural(count, written, 'call'),
    warnings: (count: number, written: string) => plural(count, written, 'warning'),
    days: (count: number, written: string) => plural(count, written, 'day'),
    versions: (count: number, written: string) => plural(count, written, 'version'),
    features: (count: number, written: string) => plural(count, written, 'feature'),
    texts: (count: number, written: string) => plural(count, written, 'text'),
    images: (count: number, written: string) => plural(count, written, 'image'),
    ofCount: (part: string, whole: string) => (
      <>
        {part} <small>of {whole}</small>
      </>
    ),
    countOf: (part: string, whole: string) => `${part} of ${whole}`,
    rankOf: (rank: string, count: string) => `rank ${rank} of ${count}`,
  },

  frame: {
    now: 'Now',
    picks: 'Picks',
    posts: 'Post',
    report: 'Report',
    models: 'Models',
    cycles: 'Cycles',
    views: 'Views',
    skip: 'Skip to the content',
    shortcuts: 'Keyboard shortcuts',
    connecting: 'connecting',
    live: 'live',
    lost: 'no connection',
    denied: 'signed out',
    fail: 'degraded',
    warn: 'warning',
    ok: 'working',
    reason: (check: string, reason: string) => `${check}: ${reason}`,
    lostLong: 'No connection to the service.',
    deniedLong: 'The service does not accept this session.',
    shownFrom: (time: string) => `What is shown is from ${time} KST.`,
    tryAgain: 'Trying again.',
    openAgain: 'Open the address with the token that the service prints at startup.',
    connectionIs: (state: string) => `Connection: ${state}`,
    serviceIs: (state: string, reason: string) => `Service: ${state}. ${reason}`,
    cycleIs: (cycle: string, scored: number, written: string) =>
      `Cycle ${cycle}: ${plural(scored, written, 'post')} scored`,
    theme: { system: 'system', light: 'light', dark: 'dark' },
    themes: 'Colours: system, light, dark (t)',
    changeTheme: (theme: string) => `Colours: ${theme}. Change`,
  },

  help: {
    views: 'Now, Picks, Post, Report, Models, Cycles',
    search: 'Search',
    rows: 'Next and previous row of a list, as ↓ and ↑',
    open: 'Open the row',
    escape: 'Close details, leave the search',
    theme: 'Colours: system, light, dark',
    language: 'Language: English, 한국어',
    list: 'This list',
    kst: 'All times are Korea Standard Time (KST).',
    close: 'Close',
  },

  parts: {
    copy: (text: string) => `Copy: ${text}`,
    copied: 'copied',
    save: 'Save as a file',
    recorded: (since: string) => `Recorded ${since}`,
    loading: (what: string) => `Loading ${what}`,
    missing: (what: string) => `No ${what}:`,
    cannotBeShown: 'cannot be shown',
    table: (caption: string) => `Table: ${caption}`,
    newest: (title: string, values: string) => `${title}. Newest: ${values}`,
    twoCycles: 'The chart needs at least two cycles.',
    stale: (since: string, what: string, reason: Node) => (
      <>
        <strong>Stale</strong> since {since} KST ({what}), because {reason}.
      </>
    ),
    none: 'none',
    withoutTitle: 'without a title',
    closeDetails: 'Close the details',
  },

  /** What cannot be read, for `loading`, `missing` and `stale`. */
  data: {
    left: 'posts that have left',
    now: 'state',
    series: 'charts',
    picks: 'picks',
    posts: 'post',
    history: 'visits',
    historyRead: 'visits of this post; the service reads its stored cycles',
    report: 'report',
    models: 'models',
    checks: 'checks',
    checksRun: 'checks; the service verifies the package',
    comparison: 'comparison',
    comparisonRead: 'comparison; the service reads its stored cycles',
    calls: 'calls',
    cycles: 'cycles',
    stored: 'stored cycles',
    response: 'response',
  },

  errors: {
    silent: 'the service does not respond',
    silentWithin: (seconds: string) => `the service does not respond within ${seconds} s`,
    status: (status: number) => `the service responded with status ${status}`,
  },
}

export const ko: typeof en = {
  language: { tag: 'ko', name: '한국어', other: 'En', change: '언어: 한국어. Switch to English' },

  units: {
    second: (count) => `${count}초`,
    minute: (count) => `${count}분`,
    hour: (count) => `${count}시간`,
    day: (count) => `${count}일`,
    ago: (span) => `${span} 전`,
    in: (span) => `${span} 뒤`,
    sinceKst: (clock) => `${clock}부터`,
    kst: (time) => `${time} KST`,
    range: (low, high) => `${low} ~ ${high}`,
    points: (count) => `${count}%p`,
    perHour: (count) => `${count}/시간`,
    cycles: (_, written) => `cycle ${written}개`,
    calls: (_, written) => `호출 ${written}건`,
    warnings: (_, written) => `경고 ${written}건`,
    days: (_, written) => `${written}일`,
    versions: (_, written) => `버전 ${written}개`,
    features: (_, written) => `입력값 ${written}개`,
    texts: (_, written) => `글 ${written}건`,
    images: (_, written) => `이미지 ${written}장`,
    ofCount: (part, whole) => (
      <>
        {part} <small>/ {whole}</small>
      </>
    ),
    countOf: (part, whole) => `${part} / ${whole}`,
    rankOf: (rank, count) => `${count}건 중 ${rank}위`,
  },

  frame: {
    now: '현황',
    picks: '모델 순위',
    posts: '글 조회',
    report: '비교 보고서',
    models: '모델',
    cycles: 'cycle 기록',
    views: '화면',
    skip: '본문으로 건너뛰기',
    shortcuts: '단축키',
    connecting: '연결 중',
    live: '실시간',
    lost: '연결 끊김',
    denied: '로그아웃됨',
    fail: '장애',
    warn: '주의',
    ok: '정상',
    reason: (check, reason) => `${check}: ${reason}`,
    lostLong: '서비스에 연결할 수 없습니다.',
    deniedLong: '로그인이 만료되었습니다.',
    shownFrom: (time) => `화면의 내용은 ${time} 기준입니다.`,
    tryAgain: '다시 연결하고 있습니다.',
    openAgain: '서비스가 시작할 때 출력한, 토큰이 든 주소로 다시 접속하세요.',
    connectionIs: (state) => `연결: ${state}`,
    serviceIs: (state, reason) => `서비스: ${state}. ${reason}`,
    cycleIs: (cycle, _, written) => `cycle ${cycle}: 글 ${written}건 채점`,
    theme: { system: '시스템 설정', light: '밝게', dark: '어둡게' },
    themes: '색상: 시스템 설정, 밝게, 어둡게(t)',
    changeTheme: (theme) => `색상: ${theme}. 바꾸기`,
  },

  help: {
    views: '현황, 모델 순위, 글 조회, 비교 보고서, 모델, cycle 기록',
    search: '검색',
    rows: '목록의 다음 줄, 이전 줄(↓, ↑와 같음)',
    open: '선택한 줄 열기',
    escape: '상세 닫기, 검색창 나가기',
    theme: '색상: 시스템 설정, 밝게, 어둡게',
    language: '언어: 한국어, English',
    list: '이 목록',
    kst: '모든 시각은 한국 표준시(KST)입니다.',
    close: '닫기',
  },

  parts: {
    copy: (text) => `복사: ${text}`,
    copied: '복사함',
    save: '파일로 저장',
    recorded: (since) => `${since} 기록`,
    loading: (what) => `${what} 불러오는 중`,
    missing: (what) => `${what} 불러오기 실패:`,
    cannotBeShown: '표시할 수 없음',
    table: (caption) => `표: ${caption}`,
    newest: (title, values) => `${title}. 최근 값: ${values}`,
    twoCycles: 'cycle이 두 번 이상 있어야 그래프가 나옵니다.',
    stale: (since, what, reason) => (
      <>
        <strong>갱신 안 됨</strong> — {what}: {since} 기준. {reason}
      </>
    ),
    none: '없음',
    withoutTitle: '제목 없음',
    closeDetails: '상세 닫기',
  },

  data: {
    left: '나간 글',
    now: '현황',
    series: '그래프',
    picks: '모델 순위',
    posts: '글',
    history: '대기 이력',
    historyRead: '이 글의 대기 이력(저장된 cycle에서 읽음)',
    report: '보고서',
    models: '모델',
    checks: '점검 결과',
    checksRun: '점검 결과(패키지를 검증함)',
    comparison: '비교 결과',
    comparisonRead: '비교 결과(저장된 cycle에서 읽음)',
    calls: '호출 기록',
    cycles: 'cycle 기록',
    stored: '저장된 cycle',
    response: '응답',
  },

  errors: {
    silent: '서비스가 응답하지 않습니다',
    silentWithin: (seconds) => `서비스가 ${seconds}초 안에 응답하지 않습니다`,
    status: (status) => `서비스가 오류로 응답했습니다(상태 코드 ${status})`,
  },
}
