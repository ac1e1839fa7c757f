/**
 * Identifiers of the API in words of each language: results, reasons, outcomes, counters, checks, stages. The page, the document of
 * a report and the text of a command all take them from here.
 */
const en = {
  // Results of posts, their reasons, and what keeps a first score waiting.
  scored: 'scored',
  waiting: 'waiting',
  not_scored: 'not scored',
  missing_title: 'missing title',
  missing_clock: 'missing clock',
  post_unavailable: 'post unavailable',
  unknown_post: 'unknown post',
  no_cycle: 'no cycle',
  other: 'other reason',

  // How a stay in the pool ends.
  open: 'pending',
  saved: 'saved',
  hidden: 'hidden',
  deleted: 'deleted',
  aged_out: 'aged out',
  unknown: 'unknown',

  // First scores.
  on_time: 'on time',
  late: 'late',
  never: 'never',
  excluded: 'not counted',

  // Results of calls.
  repeated: 'repeated',
  done: 'done',
  refused: 'refused',
  failed: 'failed',
  aborted: 'aborted',

  // Counters, and what the client sends.
  views: 'views',
  up: 'recommendations',
  down: 'down-votes',
  comment_cnt: 'comments',
  rtb_vote: 'Send-to-Best votes',
  candidates: 'candidates',
  engagement: 'engagement',
  candidate_scores: 'candidate scores',
  removals: 'removals',
  scored_now: 'scored now',
  results: 'results',

  // Weights; those of `views` and `up` have the names of counters.
  comments: 'comments',
  downvote_share: 'down-vote share',

  // Where a candidate comes from.
  score: 'score',
  setting: 'setting',
  keyword: 'keyword',
  vote: 'vote',
  manual: 'by hand',
  main: 'main',
  minor: 'minor',
  mini: 'mini',

  // Who placed a post.
  operator: 'operator',
  model: 'model',

  // Health checks.
  service: 'service',
  storage: 'storage',
  last_cycle: 'last cycle',
  next_cycle: 'next cycle',
  clock: 'clock',
  disk: 'disk',
  ok: 'ok',
  warn: 'warning',
  fail: 'failed',
  pass: 'passed',
  skip: 'skipped',

  // Stages of a cycle.
  receive: 'receive',
  decode: 'decode',
  wait: 'wait',
  plan: 'plan',
  features: 'features',
  infer: 'infer',
  encode: 'encode',
  commit: 'commit',
  send: 'send',

  // States and kinds of models.
  serving: 'serving',
  shadow: 'shadow',
  loading: 'loading',
  wanted: 'wanted',
  trained: 'trained',
  'transport-test': 'transport test',
  text: 'text',
  images: 'images',
  trained_on: 'trained on',
  note: 'note',

  // Verdicts.
  nothing_in_common: 'nothing in common',
  better: 'better',
  worse: 'worse',
  'cannot be told apart': 'cannot be told apart',
}

const ko: typeof en = {
  scored: '채점됨',
  waiting: '수치 대기',
  not_scored: '채점 제외',
  missing_title: '제목 없음',
  missing_clock: '작성·추출 시각 없음',
  post_unavailable: '조회 불가 글',
  unknown_post: '대기 목록에 없는 글',
  no_cycle: 'cycle이 오지 않음',
  other: '기타 사유',

  open: '대기 중',
  saved: '등록',
  hidden: '숨김',
  deleted: '삭제',
  aged_out: '기한 경과',
  unknown: '알 수 없음',

  on_time: '제때',
  late: '지연',
  never: '점수 없이 종료',
  excluded: '집계 제외',

  repeated: '재전송',
  done: '처리됨',
  refused: '거부',
  failed: '실패',
  aborted: '연결 끊김',

  views: '조회',
  up: '추천',
  down: '비추천',
  comment_cnt: '댓글',
  rtb_vote: '실베추',
  candidates: '후보 글',
  engagement: '반응 수치',
  candidate_scores: '관리자 스냅숏',
  removals: '제외 글',
  scored_now: '이번에 채점',
  results: '결과',

  comments: '댓글',
  downvote_share: '비추천 비율',

  score: '점수',
  setting: '설정',
  keyword: '키워드',
  vote: '투표',
  manual: '수동 추가',
  main: '메인',
  minor: '마이너',
  mini: '미니',

  operator: '운영자',
  model: '모델',

  service: '서비스',
  storage: '저장소',
  last_cycle: '최근 cycle',
  next_cycle: '다음 cycle',
  clock: '시계',
  disk: '디스크',
  ok: '정상',
  warn: '주의',
  fail: '장애',
  pass: '통과',
  skip: '건너뜀',

  receive: '수신',
  decode: '해석',
  wait: '대기',
  plan: '계획',
  features: '입력값 계산',
  infer: '추론',
  encode: '응답 작성',
  commit: '저장',
  send: '전송',

  serving: '사용 중',
  shadow: '섀도',
  loading: '불러오는 중',
  wanted: '사용 예정',
  trained: '학습 모델',
  'transport-test': '전송 시험용',
  text: '본문',
  images: '이미지',
  trained_on: '학습 자료',
  note: '메모',

  nothing_in_common: '겹치는 글 없음',
  better: '우세',
  worse: '열세',
  'cannot be told apart': '차이 불분명',
}

export const words = { en, ko }
export type Words = typeof en
export type WordsLanguage = keyof typeof words

/** An identifier of the API in words; one that the table lacks as it is. */
export function wordOf(table: Words, name: string): string {
  return Object.hasOwn(table, name) ? table[name as keyof Words] : name.replaceAll('_', ' ')
}
