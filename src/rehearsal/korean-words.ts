/**
 * Word lists for made-up posts, a topic per kind of gallery. Verbs are past stems that end in ㅆ, so that every
 * ending fits; a topic's verbs fit all of its things.
 */

export interface Topic {
  readonly name: string
  /** What posts are about; takes any of `didStems` as its verb. */
  readonly things: readonly string[]
  /** Who or what shows up in posts; may be the subject of `happenedStems`. */
  readonly actors: readonly string[]
  readonly didStems: readonly string[]
  readonly happenedStems: readonly string[]
}

export const topics: readonly Topic[] = [
  {
    name: 'cat',
    things: ['사료', '간식', '캣타워', '스크래처', '장난감', '숨숨집', '모래', '이동장', '츄르', '빗'],
    actors: ['우리 고양이', '길냥이', '첫째', '둘째', '옆집 고양이', '아기 고양이'],
    didStems: ['샀', '바꿨', '주문했', '추천받았', '꺼냈', '정리했', '새로 들였'],
    happenedStems: ['잠들었', '가출했다 돌아왔', '살쪘', '삐졌', '병원 다녀왔', '창밖만 봤'],
  },
  {
    name: 'baseball',
    things: ['유니폼', '응원봉', '시즌권', '원정 경기', '하이라이트', '글러브', '직관 티켓', '선발 명단'],
    actors: ['우리 팀', '감독', '4번 타자', '신인 투수', '불펜', '주장', '용병'],
    didStems: ['봤', '샀', '찾아봤', '놓쳤', '예매했', '자랑했', '다시 봤'],
    happenedStems: ['이겼', '졌', '끝내기 쳤', '무너졌', '부상당했', '살아났', '교체됐'],
  },
  {
    name: 'programming',
    things: [
      '코드',
      '서버',
      '라이브러리',
      'API',
      '테스트',
      '쿼리',
      '배포 스크립트',
      '로그',
      'TypeScript',
      '캐시',
    ],
    actors: ['사수', '신입', '팀장님', '빌드', '운영 DB', 'CI', '옆자리 개발자'],
    didStems: ['고쳤', '갈아엎었', '짰', '지웠', '옮겼', '다시 봤', '공부했'],
    happenedStems: ['터졌', '멈췄', '퇴사했', '느려졌', '살아났', '야근했', '사라졌'],
  },
  {
    name: 'stock',
    things: ['반도체', '배당주', 'ETF', '미국 주식', '우량주', '채권', '금', '2차전지', '리츠'],
    actors: ['코스피', '나스닥', '환율', '외국인', '기관', '개미', '대주주'],
    didStems: ['샀', '팔았', '물탔', '손절했', '모았', '정리했', '공부했'],
    happenedStems: ['올랐', '빠졌', '폭락했', '반등했', '도망갔', '신고가 찍었', '횡보했'],
  },
  {
    name: 'coffee',
    things: [
      '원두',
      '드리퍼',
      '그라인더',
      '핸드드립',
      '콜드브루',
      '에스프레소',
      '디카페인',
      '라떼',
      '텀블러',
    ],
    actors: ['동네 카페', '단골 사장님', '새 원두', '머신', '옆자리 손님', '로스터리'],
    didStems: ['마셨', '샀', '바꿨', '내렸', '주문했', '추천받았', '선물받았'],
    happenedStems: ['문 닫았', '고장 났', '이사 갔', '맛있어졌', '가격 올렸', '유명해졌'],
  },
  {
    name: 'camera',
    things: ['렌즈', '삼각대', '필름', '바디', '야경 사진', '스트랩', '망원', '단렌즈', '필터', '인물 사진'],
    actors: ['새 바디', '중고 렌즈', '모델', '일출', '은하수', '판매자', '조교 형'],
    didStems: ['찍었', '샀', '팔았', '빌렸', '보정했', '골랐', '꺼냈'],
    happenedStems: ['고장 났', '기가 막혔', '잠수 탔', '살아났', '품절됐', '단종됐'],
  },
  {
    name: 'hiking',
    things: ['등산화', '스틱', '배낭', '도시락', '능선', '일출', '단풍', '백패킹 장비', '둘레길'],
    actors: ['정상', '하산길', '날씨', '동행', '무릎', '산악회', '다람쥐'],
    didStems: ['봤', '챙겼', '찾아갔', '사진으로 남겼', '추천받았', '즐겼', '준비했'],
    happenedStems: ['끝내줬', '얼었', '미끄러웠', '북적였', '나아졌', '사라졌'],
  },
  {
    name: 'keyboard',
    things: [
      '스위치',
      '키캡',
      '하우징',
      '보강판',
      '무접점',
      '저소음 축',
      '팜레스트',
      '65배열',
      '기계식 키보드',
    ],
    actors: ['공제', '장인 형', '택배', '새 키캡', '동료', '스페이스바'],
    didStems: ['샀', '조립했', '윤활했', '바꿨', '되팔았', '질렀', '기다렸'],
    happenedStems: ['도착했', '터졌', '밀렸', '품절됐', '조용해졌', '난리 났'],
  },
  {
    name: 'game',
    things: ['신캐', '시즌패스', '랭크', '스킨', '공략', '레이드', 'DLC', '고인물 방송', '업적', '튜토리얼'],
    actors: ['우리 팀 정글', '길드장', '운영자', '신규 유저', '서버', '최종 보스', '친구'],
    didStems: ['깼', '돌렸', '샀', '달렸', '봤', '포기했', '추천받았'],
    happenedStems: ['접속했', '던졌', '터졌', '너프당했', '상향됐', '잠수 탔', '접었'],
  },
  {
    name: 'movie',
    things: ['신작', '예고편', '재개봉작', '독립 영화', '포토카드', '포스터', '속편', '공포 영화', 'OST'],
    actors: ['감독', '주연 배우', '악역', '옆자리 관객', '평론가', '반전', '엔딩'],
    didStems: ['봤', '예매했', '챙겼', '기다렸', '놓쳤', '정주행했', '추천받았'],
    happenedStems: ['울렸', '미쳤', '아쉬웠', '돋보였', '묻혔', '졸았', '다 했'],
  },
  {
    name: 'travel',
    things: ['숙소', '항공권', '오사카 맛집', '제주도 카페', '렌터카', '유심', '야시장', '기차표', '온천'],
    actors: ['비행기', '사장님', '일행', '날씨', '호텔 조식', '가이드', '환율'],
    didStems: ['예약했', '찾아갔', '취소했', '알아봤', '즐겼', '추천받았', '포기했'],
    happenedStems: ['연착됐', '친절했', '좋았', '올랐', '지쳤', '도와줬', '기다려 줬'],
  },
  {
    name: 'car',
    things: ['타이어', '블랙박스', '하이브리드', '중고차', '엔진오일', '전기차', '세차 용품', '썬팅', '연비'],
    actors: ['딜러', '정비소 사장님', '앞차', '옆 차', '보험사', '계기판', '주차장 기둥'],
    didStems: ['알아봤', '바꿨', '비교했', '질렀', '점검했', '골랐', '공부했'],
    happenedStems: ['급정거했', '방전됐', '긁혔', '친절했', '비웠', '멈췄', '양보했'],
  },
]

/** An adjective in the forms that sentences need. */
export interface Adjective {
  /** Declarative: 좋다. */
  readonly plain: string
  /** Clipped noun form of internet Korean: 좋음. */
  readonly clipped: string
  /** 좋아요. */
  readonly polite: string
  /** Before a noun: 좋은. */
  readonly modifier: string
  /** Leading on: 좋은데. */
  readonly contrast: string
}

export const adjectives: readonly Adjective[] = [
  { plain: '좋다', clipped: '좋음', polite: '좋아요', modifier: '좋은', contrast: '좋은데' },
  { plain: '비싸다', clipped: '비쌈', polite: '비싸요', modifier: '비싼', contrast: '비싼데' },
  { plain: '괜찮다', clipped: '괜찮음', polite: '괜찮아요', modifier: '괜찮은', contrast: '괜찮은데' },
  { plain: '아쉽다', clipped: '아쉬움', polite: '아쉬워요', modifier: '아쉬운', contrast: '아쉬운데' },
  { plain: '신기하다', clipped: '신기함', polite: '신기해요', modifier: '신기한', contrast: '신기한데' },
  { plain: '귀찮다', clipped: '귀찮음', polite: '귀찮아요', modifier: '귀찮은', contrast: '귀찮은데' },
  { plain: '어렵다', clipped: '어려움', polite: '어려워요', modifier: '어려운', contrast: '어려운데' },
  { plain: '이상하다', clipped: '이상함', polite: '이상해요', modifier: '이상한', contrast: '이상한데' },
  { plain: '완벽하다', clipped: '완벽함', polite: '완벽해요', modifier: '완벽한', contrast: '완벽한데' },
  { plain: '애매하다', clipped: '애매함', polite: '애매해요', modifier: '애매한', contrast: '애매한데' },
  { plain: '재밌다', clipped: '재밌음', polite: '재밌어요', modifier: '재밌는', contrast: '재밌는데' },
  { plain: '무섭다', clipped: '무서움', polite: '무서워요', modifier: '무서운', contrast: '무서운데' },
  { plain: '별로다', clipped: '별로임', polite: '별로예요', modifier: '별로인', contrast: '별로인데' },
  { plain: '든든하다', clipped: '든든함', polite: '든든해요', modifier: '든든한', contrast: '든든한데' },
]

export const adverbs = [
  '진짜',
  '너무',
  '생각보다',
  '은근',
  '솔직히',
  '역대급으로',
  '그냥',
  '의외로',
  '꽤',
  '훨씬',
]
export const times = [
  '오늘',
  '어제',
  '방금',
  '지난주에',
  '퇴근하고',
  '새벽에',
  '점심에',
  '주말에',
  '아까',
  '작년에',
]
export const places = [
  '집에서',
  '회사에서',
  '동네에서',
  '강남에서',
  '부산에서',
  '지하철에서',
  '편의점에서',
  '유튜브에서',
]
export const openers = [
  '근데',
  '그리고',
  '암튼',
  '참고로',
  '솔직히',
  '그래서',
  '다들 알겠지만',
  '처음엔 몰랐는데',
]
export const laughs = [
  'ㅋㅋ',
  'ㅋㅋㅋ',
  'ㅋㅋㅋㅋㅋ',
  'ㅎㅎ',
  'ㄷㄷ',
  'ㄷㄷㄷ',
  'ㅠㅠ',
  'ㅜㅜ',
  'ㄹㅇ',
  'ㅇㅇ',
]
export const emoji = ['😂', '🔥', '😭', '👍', '🐱', '🤔', '❤️', '🎉', '👨‍👩‍👧', '⚾']
export const english = [
  'feat. Reddit',
  'LG',
  'RTX 5080',
  'iPhone',
  'v2.0',
  'NPC',
  'MZ',
  'AI',
  'OMG',
  'Ver.3',
  'PPT',
]
