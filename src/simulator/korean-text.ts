/**
 * Korean titles and bodies of the length and variety that is usual on boards, from templates and lists of words.
 */
import { Rng } from './rng.js'

export interface Topic {
  readonly name: string
  /** What posts are about, and who takes part. */
  readonly words: Readonly<Record<'thing' | 'actor', readonly string[]>>
}

export const topics: readonly Topic[] = [
  topic('cat', '사료|간식|캣타워|스크래처|장난감|이동장|빗', '우리 고양이|길냥이|첫째|둘째|아기 고양이'),
  topic('baseball', '유니폼|시즌권|원정 경기|글러브|직관 티켓', '우리 팀|감독|4번 타자|신인 투수|불펜'),
  topic('programming', '코드|서버|API|쿼리|배포 스크립트|TypeScript', '사수|신입|팀장님|운영 DB|CI'),
  topic('stock', '반도체|배당주|ETF|미국 주식|채권|2차전지', '코스피|나스닥|환율|외국인|개미'),
  topic('coffee', '원두|드리퍼|그라인더|핸드드립|에스프레소|텀블러', '동네 카페|단골 사장님|머신|로스터리'),
  topic('camera', '렌즈|삼각대|필름|야경 사진|망원|인물 사진', '새 바디|중고 렌즈|모델|은하수|판매자'),
  topic('hiking', '등산화|스틱|배낭|도시락|백패킹 장비|둘레길', '하산길|날씨|동행|산악회|다람쥐'),
  topic('game', '신캐|시즌패스|스킨|공략|DLC|고인물 방송', '길드장|운영자|신규 유저|최종 보스|친구'),
]

/** Words for the names in braces of a template. The topic's words are added to these. */
const lists: Readonly<Record<string, readonly string[]>> = {
  did: words('봤|샀|골랐|바꿨|다시 봤|찾아봤|자랑했|포기했|추천받았|선물받았'),
  happened: words('터졌|사라졌|살아났|미쳤|무너졌|돋보였|끝내줬|유명해졌|난리 났|잠수 탔'),
  very: words('진짜|너무|생각보다|은근|솔직히|역대급으로|그냥|의외로|꽤|훨씬'),
  time: words('오늘|어제|방금|지난주에|퇴근하고|새벽에|점심에|주말에|작년에'),
  place: words('집에서|회사에서|동네에서|강남에서|지하철에서|유튜브에서'),
  good: words('좋음|비쌈|괜찮음|아쉬움|신기함|어려움|재밌음|별로임'),
  opener: words('||||||||근데 |그리고 |암튼 |참고로 |솔직히 |그래서 |다들 알겠지만 |처음엔 몰랐는데 '),
  laugh: words('ㅋㅋ|ㅋㅋㅋ|ㅋㅋㅋㅋㅋ|ㅎㅎ|ㄷㄷ|ㄷㄷㄷ|ㅠㅠ|ㄹㅇ'),
  emoji: words('😂|🔥|😭|👍|🐱|🤔|❤️|👨‍👩‍👧|⚾'),
  tag: words('.jpg|.txt|.gif|!!|?!|...| (feat. Reddit)| (LG)| (RTX 5080)| (v2.0)| (AI)| (Ver.3)'),
  close: words('.|.|.|.|.|.| ㅋㅋ| ㅎㅎ|!|~|'),
  number: Array.from({ length: 300 }, (_, index) => String(index + 1)),
}

const titles = [
  '{time} {thing} {did}다',
  '{actor} {happened}음',
  '{thing} {very} {good}',
  '{thing} vs {thing} 뭐가 나음?',
  '{thing} 다들 뭐 쓰냐?',
  '[질문] {thing} 추천 좀 해주세요 (예산 {number}만 원)',
  '속보) {actor} {happened}다',
  '{thing} {number}일 차가 알려주는 꿀팁',
  '{very} {good} {thing} {did}는데 질문 있음',
  '아니 이거 나만 {good}?',
]
const titleTails = ['', '', '', '', '{laugh}', '{laugh}', ' {emoji}', '{tag}']
const sentences = [
  '{opener}{time} {thing} {did}음{close}',
  '{opener}{thing} {very} {good}{close}',
  '{opener}{actor} {time} {happened}음{close}',
  '{opener}{place} {thing} {did}는데 {very} {good}{close}',
  '{opener}{thing} 말고 {thing} 사면 {very} {good}?',
  '{actor} 덕분에 {number}일 동안 {thing} 얘기했음{close}',
]

/** The topic of a gallery: the one that its name starts with, otherwise one that depends on the name alone. */
export function topicOf(gallery: string): Topic {
  return topics.find((topic) => gallery.startsWith(topic.name)) ?? new Rng('topic', gallery).pick(topics)
}

/** A title: a few words or a sentence, with the decoration that is usual on boards. */
export function titleText(rng: Rng, topic: Topic): string {
  return fill(rng, topic, rng.pick(titles) + rng.pick(titleTails))
}

/**
 * A body as HTML: paragraphs and images, sometimes a link, a quotation or an empty line. Its text has at least `charsAim`
 * characters; the last paragraph may exceed them. `imageCount` images are between the paragraphs.
 */
export function bodyHtml(rng: Rng, topic: Topic, aim: { charsAim: number; imageCount: number }): string {
  const blocks: string[] = []
  for (let chars = 0; chars < aim.charsAim || blocks.length === 0;) {
    const text = Array.from({ length: rng.int(1, 4) }, () => fill(rng, topic, rng.pick(sentences))).join(' ')
    chars += text.length
    blocks.push(paragraph(rng, text))
  }
  for (let image = 0; image < aim.imageCount; image++)
    blocks.splice(rng.int(0, blocks.length), 0, imageBlock(rng))
  return blocks.join('')
}

function fill(rng: Rng, topic: Topic, template: string): string {
  const all: typeof lists = { ...lists, ...topic.words }
  return template.replace(/\{(\w+)\}/g, (_, name: string) => rng.pick(all[name] ?? []))
}

function paragraph(rng: Rng, text: string): string {
  const link = `https://www.example.com/board/view?no=${rng.int(1000, 999999)}&amp;page=1`
  const forms = [
    `<p>${text}</p>`,
    `<p>${text}</p><p><br></p>`,
    `<p>${text} <a href="${link}">링크</a></p>`,
    `<blockquote><p>${text}</p></blockquote>`,
    `<p><span style="font-size:18px;"><b>${text}</b></span>&nbsp;</p>`,
  ]
  return forms[rng.weighted([78, 8, 6, 4, 4])]!
}

function imageBlock(rng: Rng): string {
  const name = Array.from({ length: 4 }, () => rng.int(0, 0xffffffff).toString(16).padStart(8, '0')).join('')
  return `<p><img src="https://img.example.com/view?no=${name}" alt="" style="max-width:100%;"></p>`
}

function words(text: string): string[] {
  return text.split('|')
}

function topic(name: string, things: string, actors: string): Topic {
  return { name, words: { thing: words(things), actor: words(actors) } }
}
