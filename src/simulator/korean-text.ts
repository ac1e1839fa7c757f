/**
 * Korean titles and bodies from a small grammar. Particles agree with the final sound of the word before them, and a
 * body uses one speech style. Verbs are past stems that end in ㅆ, so every ending fits them, and every verb fits the
 * words of every topic.
 */
import { Rng } from './rng.js'

export interface Topic {
  readonly name: string
  /** What posts are about: objects of `didStems`. */
  readonly things: readonly string[]
  /** Subjects of `happenedStems`. */
  readonly actors: readonly string[]
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

export const didStems = words('봤|샀|골랐|바꿨|다시 봤|찾아봤|자랑했|포기했|추천받았|선물받았')
export const happenedStems = words('터졌|사라졌|살아났|미쳤|무너졌|돋보였|끝내줬|유명해졌|난리 났|잠수 탔')
const adverbs = words('진짜|너무|생각보다|은근|솔직히|역대급으로|그냥|의외로|꽤|훨씬')
const times = words('오늘|어제|방금|지난주에|퇴근하고|새벽에|점심에|주말에|작년에')
const places = words('집에서|회사에서|동네에서|강남에서|지하철에서|유튜브에서')
const openers = words('근데|그리고|암튼|참고로|솔직히|그래서|다들 알겠지만|처음엔 몰랐는데')
const laughs = words('ㅋㅋ|ㅋㅋㅋ|ㅋㅋㅋㅋㅋ|ㅎㅎ|ㄷㄷ|ㄷㄷㄷ|ㅠㅠ|ㄹㅇ')
const emoji = words('😂|🔥|😭|👍|🐱|🤔|❤️|👨‍👩‍👧|⚾')
const decorations = words('.jpg|.txt|.gif|!!|?!|...| (feat. Reddit)| (LG)| (RTX 5080)| (v2.0)| (AI)| (Ver.3)')
const exclamations = words('아니 이게 맞냐|오늘자 레전드|이거 나만 그럼?|아 진짜 웃기네')

/** Plain, clipped and polite form, and the form before a noun; the form before a contrast adds 데. */
const adjectives = [
  '좋다|좋음|좋아요|좋은',
  '비싸다|비쌈|비싸요|비싼',
  '괜찮다|괜찮음|괜찮아요|괜찮은',
  '아쉽다|아쉬움|아쉬워요|아쉬운',
  '신기하다|신기함|신기해요|신기한',
  '어렵다|어려움|어려워요|어려운',
  '재밌다|재밌음|재밌어요|재밌는',
  '별로다|별로임|별로예요|별로인',
].map(words)

/** plain: 샀다. clipped: 샀음, as on boards. polite: 샀어요. The value is the position of the form of an adjective. */
const styles = { plain: 0, clipped: 1, polite: 2 } as const
type Style = keyof typeof styles
const endings: Record<Style, string> = { plain: '다', clipped: '음', polite: '어요' }

/** Particle after a consonant and after a vowel. */
type Particle = '은/는' | '이/가' | '을/를' | '과/와' | '이랑/랑'

/** The topic of a gallery: the one that its name starts with, otherwise one that depends on the name alone. */
export function topicOf(gallery: string): Topic {
  return topics.find((topic) => gallery.startsWith(topic.name)) ?? new Rng('topic', gallery).pick(topics)
}

/** The word with the form of the particle that its final sound requires: 코드를, 서버는, CI가, 4번 타자와. */
export function withParticle(word: string, particle: Particle): string {
  const [closed, open] = particle.split('/') as [string, string]
  return word + (endsClosed(word) ? closed : open)
}

/** Whether a word, pronounced in Korean, ends with a consonant. */
export function endsClosed(word: string): boolean {
  const last = word.at(-1) ?? ''
  const syllable = last.charCodeAt(0) - 0xac00
  if (syllable >= 0 && syllable < 11172) return syllable % 28 !== 0
  // Digits 영 일 삼 육 칠 팔, and letters 엘 엠 엔 알.
  return /[013678LMNRlmnr]/.test(last)
}

/** Writes a title about a thing. */
type TitleForm = (rng: Rng, topic: Topic, thing: string) => string

const titleForms: readonly TitleForm[] = [
  (rng, _topic, thing) => `${rng.pick(times)} ${thing} ${rng.pick(didStems)}다`,
  (rng, topic) => `${rng.pick(topic.actors)} ${rng.pick(happenedStems)}음`,
  (rng, _topic, thing) => `${thing} ${rng.pick(adverbs)} ${adjective(rng, 'clipped')}`,
  (rng, topic, thing) => `${thing} vs ${otherThing(rng, topic, thing)} 뭐가 나음?`,
  (_rng, _topic, thing) => `${withParticle(thing, '은/는')} 다들 뭐 쓰냐?`,
  (rng, _topic, thing) => `[질문] ${thing} 추천 좀 해주세요 (예산 ${rng.int(1, 90)}만 원)`,
  (rng, _topic, thing) => `${thing} ${rng.int(2, 30)}년 차가 알려주는 꿀팁`,
  (rng, topic) => `속보) ${rng.pick(topic.actors)} ${rng.pick(happenedStems)}다`,
  (rng, _topic, thing) => `${beforeNoun(rng)} ${thing} ${rng.pick(didStems)}는데 질문 있음`,
  (rng) => rng.pick(exclamations),
]
const titleFormWeights = [12, 9, 10, 7, 9, 6, 8, 8, 7, 4]

/** A title: a few words or a sentence, with the decoration that is usual on boards. */
export function titleText(rng: Rng, topic: Topic): string {
  const write = titleForms[rng.weighted(titleFormWeights)] as TitleForm
  const core = write(rng, topic, rng.pick(topic.things))
  const tail = rng.weighted([55, 25, 7, 13])
  if (tail === 1) return core + rng.pick(laughs)
  if (tail === 2) return `${core} ${rng.pick(emoji)}`
  return tail === 3 ? core + rng.pick(decorations) : core
}

/**
 * A body as HTML: paragraphs and images, sometimes a link, a quotation or an empty line. Its text has at least `charsAim`
 * characters; the last paragraph may exceed them. `imageCount` images are between the paragraphs.
 */
export function bodyHtml(rng: Rng, topic: Topic, aim: { charsAim: number; imageCount: number }): string {
  const { charsAim, imageCount } = aim
  const style = rng.pick<Style>(['plain', 'clipped', 'clipped', 'polite'])
  const blocks: string[] = []
  for (let chars = 0; chars < charsAim || blocks.length === 0;) {
    const text = Array.from({ length: rng.int(1, 4) }, () => sentence(rng, topic, style)).join(' ')
    chars += text.length
    blocks.push(markUp(rng, text))
  }
  for (let image = 0; image < imageCount; image++)
    blocks.splice(rng.int(0, blocks.length), 0, imageBlock(rng))
  return blocks.join(rng.chance(0.3) ? '\n' : '')
}

/** Writes a sentence without its opening and its punctuation. */
type SentenceForm = (rng: Rng, topic: Topic, style: Style, thing: string) => string

const sentenceForms: readonly SentenceForm[] = [
  (rng, _topic, style, thing) =>
    `${rng.pick(times)} ${withParticle(thing, '을/를')} ${rng.pick(didStems)}${endings[style]}`,
  (rng, _topic, style, thing) =>
    `${withParticle(thing, '은/는')} ${rng.pick(adverbs)} ${adjective(rng, style)}`,
  (rng, topic, style) =>
    `${withParticle(rng.pick(topic.actors), '이/가')} ${rng.pick(times)} ${rng.pick(happenedStems)}${endings[style]}`,
  (rng, topic, style, thing) =>
    `${withParticle(thing, '은/는')} ${beforeNoun(rng)}데 ` +
    `${withParticle(otherThing(rng, topic, thing), '은/는')} ${adjective(rng, style)}`,
  (rng, _topic, style, thing) =>
    `${rng.pick(places)} ${withParticle(thing, '을/를')} ${rng.pick(didStems)}는데 ` +
    `${rng.pick(adverbs)} ${adjective(rng, style)}`,
  (rng, topic, style, thing) =>
    `${withParticle(thing, '과/와')} ${otherThing(rng, topic, thing)} 중에 ` +
    { plain: '뭐가 더 낫냐?', clipped: '뭐가 더 나음?', polite: '뭐가 더 나은가요?' }[style],
  (rng, topic, style, thing) =>
    `${withParticle(rng.pick(topic.actors), '이랑/랑')} ${rng.int(2, 300)}일 동안 ${thing} 얘기했${endings[style]}`,
]

/** Polite sentences mostly end with full stops, the others often with laughter. */
const politeClosings = words('.|.|.|.|.|.|.|.|.| ㅎㅎ|!|~| 👍|')
const casualClosings = words('.|.|.| ㅋㅋ| ㅋㅋㅋ| ㅎㅎ| ㄷㄷ|!|~||')

/** One sentence in one style, with its punctuation. */
export function sentence(rng: Rng, topic: Topic, style: Style): string {
  const opener = rng.chance(0.2) ? `${rng.pick(openers)} ` : ''
  const text = opener + rng.pick(sentenceForms)(rng, topic, style, rng.pick(topic.things))
  if (text.endsWith('?')) return text + (rng.chance(0.25) ? rng.pick(laughs) : '')
  return text + rng.pick(style === 'polite' ? politeClosings : casualClosings)
}

function adjective(rng: Rng, style: Style): string {
  return rng.pick(adjectives)[styles[style]] ?? ''
}

function beforeNoun(rng: Rng): string {
  return rng.pick(adjectives).at(-1) ?? ''
}

/** A thing of the topic other than `thing`; every topic has several. */
function otherThing(rng: Rng, topic: Topic, thing: string): string {
  return rng.pick(topic.things.filter((other) => other !== thing))
}

function markUp(rng: Rng, text: string): string {
  const link = `https://www.example.com/board/view?no=${rng.int(1000, 999999)}&amp;page=1`
  const forms = [
    `<p>${text}</p>`,
    `<p>${text}</p><p><br></p>`,
    `<p>${text} <a href="${link}">링크</a></p>`,
    `<blockquote><p>${text}</p></blockquote>`,
    `<p><span style="font-size:18px;"><b>${text}</b></span>&nbsp;</p>`,
  ]
  return forms[rng.weighted([78, 8, 6, 4, 4])] as string
}

function imageBlock(rng: Rng): string {
  const name = Array.from({ length: 4 }, () => rng.int(0, 0xffffffff).toString(16).padStart(8, '0')).join('')
  return `<p><img src="https://img.example.com/view?no=${name}" alt="" style="max-width:100%;"></p>`
}

function words(text: string): string[] {
  return text.split('|')
}

function topic(name: string, things: string, actors: string): Topic {
  return { name, things: words(things), actors: words(actors) }
}
