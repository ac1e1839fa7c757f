/**
 * Word lists for generated Korean posts: one topic per gallery name, and words that fit every topic. Verbs are past
 * stems that end in ㅆ, so every ending fits them. The verbs of a topic fit all of its things.
 */

export interface Topic {
  readonly name: string
  /** What posts are about. Each can be the object of a verb of `didStems`. */
  readonly things: readonly string[]
  /** Persons and objects that can be the subject of a verb of `happenedStems`. */
  readonly actors: readonly string[]
  readonly didStems: readonly string[]
  readonly happenedStems: readonly string[]
}

/** An adjective in the forms that the sentences use. */
export interface Adjective {
  /** Declarative: 좋다. */
  readonly plain: string
  /** Clipped noun form, as on boards: 좋음. */
  readonly clipped: string
  /** 좋아요. */
  readonly polite: string
  /** Before a noun: 좋은. */
  readonly modifier: string
  /** Before a contrast: 좋은데. */
  readonly contrast: string
}

export const topics: readonly Topic[] = [
  topic(
    'cat',
    '사료|간식|캣타워|스크래처|장난감|숨숨집|모래|이동장|츄르|빗',
    '우리 고양이|길냥이|첫째|둘째|옆집 고양이|아기 고양이',
    '샀|바꿨|주문했|추천받았|꺼냈|정리했|새로 들였',
    '잠들었|가출했다 돌아왔|살쪘|삐졌|병원 다녀왔|창밖만 봤',
  ),
  topic(
    'baseball',
    '유니폼|응원봉|시즌권|원정 경기|하이라이트|글러브|직관 티켓|선발 명단',
    '우리 팀|감독|4번 타자|신인 투수|불펜|주장|용병',
    '봤|샀|찾아봤|놓쳤|예매했|자랑했|다시 봤',
    '이겼|졌|끝내기 쳤|무너졌|부상당했|살아났|교체됐',
  ),
  topic(
    'programming',
    '코드|서버|라이브러리|API|테스트|쿼리|배포 스크립트|로그|TypeScript|캐시',
    '사수|신입|팀장님|빌드|운영 DB|CI|옆자리 개발자',
    '고쳤|갈아엎었|짰|지웠|옮겼|다시 봤|공부했',
    '터졌|멈췄|퇴사했|느려졌|살아났|야근했|사라졌',
  ),
  topic(
    'stock',
    '반도체|배당주|ETF|미국 주식|우량주|채권|금|2차전지|리츠',
    '코스피|나스닥|환율|외국인|기관|개미|대주주',
    '샀|팔았|물탔|손절했|모았|정리했|공부했',
    '올랐|빠졌|폭락했|반등했|도망갔|신고가 찍었|횡보했',
  ),
  topic(
    'coffee',
    '원두|드리퍼|그라인더|핸드드립|콜드브루|에스프레소|디카페인|라떼|텀블러',
    '동네 카페|단골 사장님|새 원두|머신|옆자리 손님|로스터리',
    '마셨|샀|바꿨|내렸|주문했|추천받았|선물받았',
    '문 닫았|고장 났|이사 갔|맛있어졌|가격 올렸|유명해졌',
  ),
  topic(
    'camera',
    '렌즈|삼각대|필름|바디|야경 사진|스트랩|망원|단렌즈|필터|인물 사진',
    '새 바디|중고 렌즈|모델|일출|은하수|판매자|조교 형',
    '찍었|샀|팔았|빌렸|보정했|골랐|꺼냈',
    '고장 났|기가 막혔|잠수 탔|살아났|품절됐|단종됐',
  ),
  topic(
    'hiking',
    '등산화|스틱|배낭|도시락|능선|일출|단풍|백패킹 장비|둘레길',
    '정상|하산길|날씨|동행|무릎|산악회|다람쥐',
    '봤|챙겼|찾아갔|사진으로 남겼|추천받았|즐겼|준비했',
    '끝내줬|얼었|미끄러웠|북적였|나아졌|사라졌',
  ),
  topic(
    'keyboard',
    '스위치|키캡|하우징|보강판|무접점|저소음 축|팜레스트|65배열|기계식 키보드',
    '공제|장인 형|택배|새 키캡|동료|스페이스바',
    '샀|조립했|윤활했|바꿨|되팔았|질렀|기다렸',
    '도착했|터졌|밀렸|품절됐|조용해졌|난리 났',
  ),
  topic(
    'game',
    '신캐|시즌패스|랭크|스킨|공략|레이드|DLC|고인물 방송|업적|튜토리얼',
    '우리 팀 정글|길드장|운영자|신규 유저|서버|최종 보스|친구',
    '깼|돌렸|샀|달렸|봤|포기했|추천받았',
    '접속했|던졌|터졌|너프당했|상향됐|잠수 탔|접었',
  ),
  topic(
    'movie',
    '신작|예고편|재개봉작|독립 영화|포토카드|포스터|속편|공포 영화|OST',
    '감독|주연 배우|악역|옆자리 관객|평론가|반전|엔딩',
    '봤|예매했|챙겼|기다렸|놓쳤|정주행했|추천받았',
    '울렸|미쳤|아쉬웠|돋보였|묻혔|졸았|다 했',
  ),
  topic(
    'travel',
    '숙소|항공권|오사카 맛집|제주도 카페|렌터카|유심|야시장|기차표|온천',
    '비행기|사장님|일행|날씨|호텔 조식|가이드|환율',
    '예약했|찾아갔|취소했|알아봤|즐겼|추천받았|포기했',
    '연착됐|친절했|좋았|올랐|지쳤|도와줬|기다려 줬',
  ),
  topic(
    'car',
    '타이어|블랙박스|하이브리드|중고차|엔진오일|전기차|세차 용품|썬팅|연비',
    '딜러|정비소 사장님|앞차|옆 차|보험사|계기판|주차장 기둥',
    '알아봤|바꿨|비교했|질렀|점검했|골랐|공부했',
    '급정거했|방전됐|긁혔|친절했|비웠|멈췄|양보했',
  ),
]

/** One line each: plain, clipped, polite, modifier, contrast. */
export const adjectives: readonly Adjective[] = [
  '좋다|좋음|좋아요|좋은|좋은데',
  '비싸다|비쌈|비싸요|비싼|비싼데',
  '괜찮다|괜찮음|괜찮아요|괜찮은|괜찮은데',
  '아쉽다|아쉬움|아쉬워요|아쉬운|아쉬운데',
  '신기하다|신기함|신기해요|신기한|신기한데',
  '귀찮다|귀찮음|귀찮아요|귀찮은|귀찮은데',
  '어렵다|어려움|어려워요|어려운|어려운데',
  '이상하다|이상함|이상해요|이상한|이상한데',
  '완벽하다|완벽함|완벽해요|완벽한|완벽한데',
  '애매하다|애매함|애매해요|애매한|애매한데',
  '재밌다|재밌음|재밌어요|재밌는|재밌는데',
  '무섭다|무서움|무서워요|무서운|무서운데',
  '별로다|별로임|별로예요|별로인|별로인데',
  '든든하다|든든함|든든해요|든든한|든든한데',
].map((forms) => {
  const [plain = '', clipped = '', polite = '', modifier = '', contrast = ''] = list(forms)
  return { plain, clipped, polite, modifier, contrast }
})

export const adverbs = list('진짜|너무|생각보다|은근|솔직히|역대급으로|그냥|의외로|꽤|훨씬')
export const times = list('오늘|어제|방금|지난주에|퇴근하고|새벽에|점심에|주말에|아까|작년에')
export const places = list('집에서|회사에서|동네에서|강남에서|부산에서|지하철에서|편의점에서|유튜브에서')
export const openers = list('근데|그리고|암튼|참고로|솔직히|그래서|다들 알겠지만|처음엔 몰랐는데')
export const laughs = list('ㅋㅋ|ㅋㅋㅋ|ㅋㅋㅋㅋㅋ|ㅎㅎ|ㄷㄷ|ㄷㄷㄷ|ㅠㅠ|ㅜㅜ|ㄹㅇ|ㅇㅇ')
export const emoji = list('😂|🔥|😭|👍|🐱|🤔|❤️|🎉|👨‍👩‍👧|⚾')
export const english = list('feat. Reddit|LG|RTX 5080|iPhone|v2.0|NPC|MZ|AI|OMG|Ver.3|PPT')

function list(words: string): string[] {
  return words.split('|')
}

function topic(name: string, things: string, actors: string, did: string, happened: string): Topic {
  return {
    name,
    things: list(things),
    actors: list(actors),
    didStems: list(did),
    happenedStems: list(happened),
  }
}
