/**
 * A small `tokenizer.json` for Korean text: WordPiece over letters (jamo). NFD normalisation, which BERT's normaliser
 * applies when it strips accents, decomposes syllables into letters, so that 400 pieces cover all 11,172 syllables.
 */

/** Their ids are 0 to 4, in this order. */
export const specialTokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'] as const

/** Words that are one piece, at the start of a word. */
const words =
  '오늘 내일 어제 진짜 근데 그냥 이거 저거 우리 사람 사진 영상 질문 후기 정보 공지 추천 비추 댓글 조회 갤러리 글 나 너 게임 영화 음식 축구 야구 주식'
/** Endings and particles that are one piece, inside a word. */
const endings =
  '은 는 이 가 을 를 에 에서 으로 로 와 과 도 만 까지 부터 하다 했다 한다 합니다 했음 했는데 네 냐 임 함 요 죠'

/** The text of `tokenizer.json`, and the size of its vocabulary. */
export function koreanTokenizer(): { readonly json: string; readonly vocabularyCount: number } {
  const vocabulary = Object.fromEntries(pieces().map((piece, id) => [piece, id]))
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [special('[CLS]'), { Sequence: { id: 'A', type_id: 0 } }, special('[SEP]')],
      pair: [
        special('[CLS]'),
        { Sequence: { id: 'A', type_id: 0 } },
        special('[SEP]'),
        { Sequence: { id: 'B', type_id: 1 } },
        { SpecialToken: { id: '[SEP]', type_id: 1 } },
      ],
      special_tokens: Object.fromEntries(
        (['[CLS]', '[SEP]'] as const).map((token) => [
          token,
          { id: token, ids: [specialTokens.indexOf(token)], tokens: [token] },
        ]),
      ),
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: vocabulary,
    },
  }
  return { json: JSON.stringify(tokenizer) + '\n', vocabularyCount: pieces().length }
}

function special(id: (typeof specialTokens)[number]) {
  return { SpecialToken: { id, type_id: 0 } }
}

/** The vocabulary without duplicates. The index of a piece is its id. */
function pieces(): string[] {
  const [leads, vowels, tails] = [letters(0x1100, 0x1112), letters(0x1161, 0x1175), letters(0x11a8, 0x11c2)]
  const open = leads.flatMap((lead) => vowels.map((vowel) => lead + vowel))
  const ascii = letters(0x21, 0x7e).filter((letter) => letter === letter.toLowerCase())
  // ㄱ to ㅣ, the compatibility jamo, as in ㅋㅋ and ㅠㅠ.
  const lone = letters(0x3131, 0x3163)
  const laughs = ['ㅋㅋ', 'ㅋㅋㅋ', 'ㅎㅎ', 'ㅠㅠ', 'ㄷㄷ']
  const anywhere = [...leads, ...vowels, ...tails, ...open, ...ascii, ...lone]
  return [
    ...new Set([
      ...specialTokens,
      ...[...anywhere, ...laughs, ...split(words)],
      ...[...anywhere, ...split(endings)].map((piece) => `##${piece}`),
    ]),
  ]
}

function letters(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => String.fromCharCode(first + index))
}

function split(list: string): string[] {
  return list.split(' ').map((word) => word.normalize('NFD'))
}
