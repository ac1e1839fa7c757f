/**
 * The inputs of models in words of each language. The catalogue of features (`model/features`) says of each feature which words
 * it has, and in which unit a reader expects its value.
 */
import type { CounterName } from './columns.js'
import { words, type WordsLanguage } from './words.js'

const en = {
  yes: 'yes',
  no: 'no',
  times: (factor: string) => `×${factor}`,
  forms: {
    count: (what: string) => what,
    missing: (what: string) => `${what} unknown`,
    gain: (what: string) => `${what} since the reading before`,
    perHour: (what: string) => `${what} per hour now`,
    perHourOfLife: (what: string) => `${what} per hour since it was written`,
    momentum: (what: string) => `${what}: pace now, against its average`,
  },
  text: { title: 'title', body: 'text' },
  textCount: (text: string, measure: string) => `${text}: ${measure}`,
  textShare: (text: string, measure: string) => `${text}: share of ${measure}`,
  measures: {
    chars: 'characters',
    words: 'words',
    questions: 'question marks',
    exclamations: 'exclamation marks',
    tags: 'HTML tags',
    images: 'images',
    links: 'links',
    hangul: 'Hangul',
    jamo: 'single jamo',
    laughs: 'ㅋ and ㅎ',
    latin: 'Latin letters',
    digits: 'digits',
    han: 'Chinese characters',
    spaces: 'spaces',
    punctuation: 'punctuation',
    emoji: 'emoji',
  },
  snapshots: {
    snapshot: (what: string) => `admin snapshot: ${what}`,
    snapshotOnMobile: (what: string) => `admin snapshot: ${what} on mobile`,
    snapshotInApp: (what: string) => `admin snapshot: ${what} in the app`,
    snapshotTotal: (what: string) => `admin snapshot: ${what}, all devices`,
    snapshotMobileShare: (what: string) => `admin snapshot: mobile share of ${what}`,
    snapshotAppShare: (what: string) => `admin snapshot: app share of ${what}`,
  },
  fields: {
    recommend_up_cnt: 'recommendations over the baseline',
    comment_cnt: 'comments over the baseline',
    hit_cnt: 'views over the baseline',
    sitebest_cnt: 'Send-to-Best votes',
    memo_size: 'size of the text',
    upimg_cnt: 'uploaded images',
    upimg_height: 'height of the images, share of the most',
  },
  named: {
    up_per_view: 'recommendations per view',
    down_per_view: 'down-votes per view',
    comments_per_view: 'comments per view',
    rtb_per_view: 'Send-to-Best votes per view',
    rtb_per_up: 'Send-to-Best votes per recommendation',
    comments_per_up: 'comments per recommendation',
    down_share: 'down-votes among all votes',
    up_share_smoothed: 'recommendations among all votes, smoothed',
    votes: 'recommendations and down-votes',
    previous_present: 'there is a reading before',
    previous_minutes: 'time since the reading before',
    up_gain_per_view_gain: 'recommendations per view since the reading before',
    comments_gain_per_view_gain: 'comments per view since the reading before',
    created_age: 'age',
    extracted_age: 'time in the queue',
    extraction_delay: 'from writing to extraction',
    reading_age: 'age of the reading',
    cycle_hour_sin: 'time of day (sine)',
    cycle_hour_cos: 'time of day (cosine)',
    created_hour_sin: 'time of writing (sine)',
    created_hour_cos: 'time of writing (cosine)',
    body_present: 'has a text',
    source_keyword: 'found by keyword',
    source_manual: 'found by hand',
    source_score: 'found by score',
    source_setting: 'found by setting',
    source_unknown: 'source unknown',
    source_vote: 'found by votes',
    manual_flag: 'registered by hand',
    gallery_index: 'gallery',
    gallery_main: 'main gallery',
    gallery_mini: 'mini gallery',
    gallery_minor: 'minor gallery',
    category_present: 'has a category',
    text_encoded: 'its text was read',
    images_in_post: 'images in the post',
    images_any: 'has images',
    images_expected_present: 'its images are announced',
    images_expected: 'images announced',
    images_stored: 'images that arrived',
    images_stored_share: 'share of the images that arrived',
    images_outstanding: 'images still to come',
    images_encoded: 'images that were read',
    images_encoded_share: 'share of the images that were read',
    snapshot_present: 'has an admin snapshot',
    snapshot_age: 'age of the admin snapshot',
    text: 'text, as the model reads it',
    image: 'images, as the model sees them',
  },
}

const ko: typeof en = {
  yes: '예',
  no: '아니요',
  times: (factor) => `${factor}배`,
  forms: {
    count: (what) => what,
    missing: (what) => `${what} 수치 없음`,
    gain: (what) => `직전 측정 이후 ${what}`,
    perHour: (what) => `지금 시간당 ${what}`,
    perHourOfLife: (what) => `작성 이후 시간당 ${what}`,
    momentum: (what) => `${what} 속도(평균 대비)`,
  },
  text: { title: '제목', body: '본문' },
  textCount: (text, measure) => `${text} ${measure} 수`,
  textShare: (text, measure) => `${text} ${measure} 비율`,
  measures: {
    chars: '글자',
    words: '단어',
    questions: '물음표',
    exclamations: '느낌표',
    tags: 'HTML 태그',
    images: '이미지',
    links: '링크',
    hangul: '한글',
    jamo: '낱자',
    laughs: 'ㅋ·ㅎ',
    latin: '로마자',
    digits: '숫자',
    han: '한자',
    spaces: '공백',
    punctuation: '문장 부호',
    emoji: '이모지',
  },
  snapshots: {
    snapshot: (what) => `관리자 스냅숏 ${what}`,
    snapshotOnMobile: (what) => `관리자 스냅숏 모바일 ${what}`,
    snapshotInApp: (what) => `관리자 스냅숏 앱 ${what}`,
    snapshotTotal: (what) => `관리자 스냅숏 ${what}(전체 기기)`,
    snapshotMobileShare: (what) => `관리자 스냅숏 ${what} 중 모바일 비율`,
    snapshotAppShare: (what) => `관리자 스냅숏 ${what} 중 앱 비율`,
  },
  fields: {
    recommend_up_cnt: '기준 초과 추천',
    comment_cnt: '기준 초과 댓글',
    hit_cnt: '기준 초과 조회',
    sitebest_cnt: '실베추',
    memo_size: '본문 크기',
    upimg_cnt: '올린 이미지',
    upimg_height: '이미지 높이(최대 대비)',
  },
  named: {
    up_per_view: '조회 대비 추천',
    down_per_view: '조회 대비 비추천',
    comments_per_view: '조회 대비 댓글',
    rtb_per_view: '조회 대비 실베추',
    rtb_per_up: '추천 대비 실베추',
    comments_per_up: '추천 대비 댓글',
    down_share: '전체 투표 중 비추천',
    up_share_smoothed: '전체 투표 중 추천(보정)',
    votes: '추천과 비추천 합계',
    previous_present: '직전 측정 있음',
    previous_minutes: '직전 측정과의 간격',
    up_gain_per_view_gain: '직전 측정 이후 조회 대비 추천',
    comments_gain_per_view_gain: '직전 측정 이후 조회 대비 댓글',
    created_age: '작성 후 경과',
    extracted_age: '추출 후 경과',
    extraction_delay: '작성에서 추출까지',
    reading_age: '측정 후 경과',
    cycle_hour_sin: '시간대(사인)',
    cycle_hour_cos: '시간대(코사인)',
    created_hour_sin: '작성 시간대(사인)',
    created_hour_cos: '작성 시간대(코사인)',
    body_present: '본문 있음',
    source_keyword: '키워드로 추출',
    source_manual: '수동 추출',
    source_score: '점수로 추출',
    source_setting: '설정으로 추출',
    source_unknown: '추출 경로 알 수 없음',
    source_vote: '투표로 추출',
    manual_flag: '수동 추가',
    gallery_index: '갤러리',
    gallery_main: '메인 갤러리',
    gallery_mini: '미니 갤러리',
    gallery_minor: '마이너 갤러리',
    category_present: '분류 있음',
    text_encoded: '본문을 읽음',
    images_in_post: '글의 이미지',
    images_any: '이미지 있음',
    images_expected_present: '이미지 예고됨',
    images_expected: '예고된 이미지',
    images_stored: '도착한 이미지',
    images_stored_share: '도착한 이미지 비율',
    images_outstanding: '아직 오지 않은 이미지',
    images_encoded: '읽은 이미지',
    images_encoded_share: '읽은 이미지 비율',
    snapshot_present: '관리자 스냅숏 있음',
    snapshot_age: '관리자 스냅숏 후 경과',
    text: '본문 내용',
    image: '이미지 내용',
  },
}

export const inputWords = { en, ko }
export type InputWords = typeof en
export type MeasureWord = keyof InputWords['measures']

/** How a reader expects a value. */
export type InputUnit =
  'count' | 'share' | 'factor' | 'flag' | 'hours' | 'days' | 'minutes' | 'perHour' | 'times' | 'plain'

interface Shown {
  readonly unit: InputUnit
  /** How often the logarithm with sign of 1 + size was taken of the value. */
  readonly logs: number
}

/** What readers call a feature, and how they expect its value. */
export type ShownInput = Shown &
  (
    | { readonly form: 'named'; readonly of: keyof InputWords['named'] }
    | { readonly form: keyof InputWords['forms']; readonly of: CounterName }
    | {
        readonly form: 'textCount' | 'textShare'
        readonly text: keyof InputWords['text']
        readonly of: MeasureWord
      }
    | { readonly form: keyof InputWords['snapshots']; readonly of: keyof InputWords['fields'] }
  )

/** What readers call an input. */
export function inputLabel(shown: ShownInput, language: WordsLanguage): string {
  const t = inputWords[language]
  switch (shown.form) {
    case 'named':
      return t.named[shown.of]
    case 'textCount':
    case 'textShare':
      return t[shown.form](t.text[shown.text], t.measures[shown.of])
    case 'snapshot':
    case 'snapshotOnMobile':
    case 'snapshotInApp':
    case 'snapshotTotal':
    case 'snapshotMobileShare':
    case 'snapshotAppShare':
      return t.snapshots[shown.form](t.fields[shown.of])
    default:
      return t.forms[shown.form](words[language][shown.of])
  }
}
