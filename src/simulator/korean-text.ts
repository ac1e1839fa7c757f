/**
 * Korean titles and bodies from a small grammar. Particles agree with the final sound of the word before them, and a
 * body uses one speech style.
 */
import {
  adjectives,
  adverbs,
  emoji,
  english,
  laughs,
  openers,
  places,
  times,
  topics,
  type Topic,
} from './korean-words.js'
import { hashText, type Rng } from './rng.js'

/** plain: 샀다. clipped: 샀음, as on boards. polite: 샀어요. */
type Style = 'plain' | 'clipped' | 'polite'

/** Particle after a consonant and after a vowel. */
type Particle = '은/는' | '이/가' | '을/를' | '과/와' | '이랑/랑'

const endings: Record<Style, string> = { plain: '다', clipped: '음', polite: '어요' }

/** The topic of a gallery: the one that its name starts with, otherwise one chosen by the hash of the name. */
export function topicOf(gallery: string): Topic {
  const named = topics.find((topic) => gallery.startsWith(topic.name))
  return named ?? (topics[hashText(gallery) % topics.length] as Topic)
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

/** A title: a few words or a sentence, with the decoration that is usual on boards. */
export function titleText(rng: Rng, topic: Topic): string {
  const thing = rng.pick(topic.things)
  const [, write] = titleForms[rng.weighted(titleFormWeights)] as (typeof titleForms)[number]
  const core = write(rng, topic, thing)
  const tail = rng.weighted([55, 25, 7, 5, 8])
  if (tail === 1) return core + rng.pick(laughs)
  if (tail === 2) return `${core} ${rng.pick(emoji)}`
  if (tail === 3) return `${core} (${rng.pick(english)})`
  if (tail === 4) return `${core}${rng.pick(['.jpg', '.txt', '.gif', '!!', '?!', '...'])}`
  return core
}

type TitleForm = (rng: Rng, topic: Topic, thing: string) => string

/** Weight and text of each kind of title. */
const titleForms: readonly (readonly [weight: number, write: TitleForm])[] = [
  [12, (rng, topic, thing) => `${rng.pick(times)} ${thing} ${rng.pick(topic.didStems)}다`],
  [9, (rng, topic) => `${rng.pick(topic.actors)} ${rng.pick(topic.happenedStems)}음`],
  [10, (rng, _topic, thing) => `${thing} ${rng.pick(adverbs)} ${rng.pick(adjectives).clipped}`],
  [7, (rng, topic, thing) => `${thing} vs ${otherThing(rng, topic, thing)} 뭐가 나음?`],
  [6, (_rng, _topic, thing) => `${withParticle(thing, '은/는')} 다들 뭐 쓰냐?`],
  [6, (rng, _topic, thing) => `[질문] ${thing} 추천 좀 해주세요 (예산 ${rng.int(1, 90)}만 원)`],
  [6, (rng, _topic, thing) => `${thing} ${rng.int(2, 30)}년 차가 알려주는 꿀팁`],
  [5, (rng, topic) => `속보) ${rng.pick(topic.actors)} ${rng.pick(topic.happenedStems)}다`],
  [5, (rng, _topic, thing) => `스압) ${thing} 후기 정리 ${rng.int(1, 12)}편`],
  [
    6,
    (rng, topic, thing) =>
      `${rng.pick(adjectives).modifier} ${thing} ${rng.pick(topic.didStems)}는데 질문 있음`,
  ],
  [4, (rng, _topic, thing) => `${thing} ${rng.int(1, 40)}만 원이면 싼 거냐?`],
  [4, (rng) => rng.pick(['아니 이게 맞냐', '오늘자 레전드', '이거 나만 그럼?', '아 진짜 웃기네'])],
]

const titleFormWeights = titleForms.map(([weight]) => weight)

/** Content of a body. */
export interface BodyOptions {
  /** Minimum text length in characters; the last paragraph may exceed it. */
  readonly charsAim: number
  /** Number of images between the paragraphs. */
  readonly imageCount: number
}

/** A body as HTML: paragraphs and images, sometimes a link, a quotation or an empty line. */
export function bodyHtml(rng: Rng, topic: Topic, options: BodyOptions): string {
  const style = rng.pick<Style>(['plain', 'clipped', 'clipped', 'polite'])
  const blocks: string[] = []
  let chars = 0
  while (chars < options.charsAim || blocks.length === 0) {
    const text = paragraph(rng, topic, style)
    chars += text.length
    blocks.push(markUp(rng, text))
  }
  for (let image = 0; image < options.imageCount; image++) {
    blocks.splice(rng.int(0, blocks.length), 0, imageBlock(rng))
  }
  return blocks.join(rng.chance(0.3) ? '\n' : '')
}

function paragraph(rng: Rng, topic: Topic, style: Style): string {
  return Array.from({ length: rng.int(1, 4) }, () => sentence(rng, topic, style)).join(' ')
}

/** One sentence in one style, with its punctuation. */
export function sentence(rng: Rng, topic: Topic, style: Style): string {
  const opener = rng.chance(0.2) ? `${rng.pick(openers)} ` : ''
  const form = sentenceForms[rng.int(0, sentenceForms.length - 1)] as SentenceForm
  const text = opener + form(rng, topic, style)
  return text + (text.endsWith('?') ? afterQuestion(rng) : closing(rng, style))
}

type SentenceForm = (rng: Rng, topic: Topic, style: Style) => string

const sentenceForms: readonly SentenceForm[] = [
  (rng, topic, style) =>
    `${rng.pick(times)} ${withParticle(rng.pick(topic.things), '을/를')} ${rng.pick(topic.didStems)}${endings[style]}`,
  (rng, topic, style) =>
    `${withParticle(rng.pick(topic.things), '은/는')} ${rng.pick(adverbs)} ${rng.pick(adjectives)[style]}`,
  (rng, topic, style) =>
    `${withParticle(rng.pick(topic.actors), '이/가')} ${rng.pick(times)} ${rng.pick(topic.happenedStems)}${endings[style]}`,
  (rng, topic, style) => {
    const thing = rng.pick(topic.things)
    const other = otherThing(rng, topic, thing)
    const verdict = rng.pick(adjectives)[style]
    return `${withParticle(thing, '은/는')} ${rng.pick(adjectives).contrast} ${withParticle(other, '은/는')} ${verdict}`
  },
  (rng, topic, style) =>
    `${rng.pick(places)} ${withParticle(rng.pick(topic.things), '을/를')} ${rng.pick(topic.didStems)}는데 ` +
    `${rng.pick(adverbs)} ${rng.pick(adjectives)[style]}`,
  (rng, topic, style) => {
    const thing = rng.pick(topic.things)
    const question = { plain: '뭐가 더 낫냐?', clipped: '뭐가 더 나음?', polite: '뭐가 더 나은가요?' }[style]
    return `${withParticle(thing, '과/와')} ${otherThing(rng, topic, thing)} 중에 ${question}`
  },
  (rng, topic, style) =>
    `${rng.pick(topic.things)} 가격은 ${rng.int(1, 99)}만 ${rng.int(1, 9)}천 원` +
    { plain: '이었다', clipped: '이었음', polite: '이었어요' }[style],
  (rng, topic, style) =>
    `${withParticle(rng.pick(topic.actors), '이랑/랑')} 같이 ${rng.pick(topic.things)} 얘기` +
    { plain: '했다', clipped: '했음', polite: '했어요' }[style],
  (rng, topic, style) =>
    `${rng.pick(topic.things)} 처음 써 본 지 ${rng.int(2, 300)}일` +
    { plain: ' 됐다', clipped: ' 됨', polite: '째예요' }[style],
]

/** A thing of the topic other than `thing`; every topic has several. */
function otherThing(rng: Rng, topic: Topic, thing: string): string {
  return rng.pick(topic.things.filter((other) => other !== thing))
}

function afterQuestion(rng: Rng): string {
  return rng.chance(0.25) ? rng.pick(laughs) : ''
}

function closing(rng: Rng, style: Style): string {
  const kind = rng.weighted(style === 'polite' ? [70, 8, 12, 5, 5] : [30, 36, 12, 4, 18])
  if (kind === 0) return '.'
  if (kind === 1) return ` ${rng.pick(laughs)}`
  if (kind === 2) return rng.pick(['!', '!!', '~'])
  return kind === 3 ? ` ${rng.pick(emoji)}` : ''
}

function markUp(rng: Rng, text: string): string {
  switch (rng.weighted([78, 8, 6, 4, 4])) {
    case 1:
      return `<p>${text}</p><p><br></p>`
    case 2:
      return `<p>${text} <a href="https://www.example.com/board/view?no=${rng.int(1000, 999999)}&amp;page=1">링크</a></p>`
    case 3:
      return `<blockquote><p>${text}</p></blockquote>`
    case 4:
      return `<p><span style="font-size:18px;"><b>${text}</b></span>&nbsp;</p>`
    default:
      return `<p>${text}</p>`
  }
}

function imageBlock(rng: Rng): string {
  const name = Array.from({ length: 4 }, () => rng.int(0, 0xffffffff).toString(16).padStart(8, '0')).join('')
  return `<p><img src="https://img.example.com/view?no=${name}" alt="" style="max-width:100%;"></p>`
}
