/** Why a call of a client failed, in Korean, by the sentence of the service; `{}` stands for what it fills in. */
const said: Readonly<Record<string, string>> = {
  'unknown path': '없는 주소입니다',
  'allowed methods: {}': '허용되지 않는 메서드입니다(허용: {})',
  'internal error': '서비스 내부 오류입니다. 자세한 내용은 서비스 로그에 있습니다',
  'the client disconnected': '클라이언트가 연결을 끊었습니다',
  'timed out while receiving the request body': '요청 본문을 받다가 시간이 초과되었습니다',
  'the body is larger than {} bytes': '본문이 {}바이트보다 큽니다',
  'the decompressed body is larger than {} bytes': '압축을 푼 본문이 {}바이트보다 큽니다',
  'the body is not valid gzip': '본문이 올바른 gzip이 아닙니다',
  'missing or unknown API key; send it as the whole Authorization header, without a scheme':
    'API 키가 없거나 잘못되었습니다. Authorization 헤더에 키만 보내야 합니다',
  'send one Content-Length or one Transfer-Encoding: chunked':
    'Content-Length나 Transfer-Encoding: chunked 중 하나만 보내야 합니다',
  'Content-Type must be application/json, with a charset or without':
    'Content-Type은 application/json이어야 합니다',
  'Content-Type must be image/jpeg': 'Content-Type은 image/jpeg여야 합니다',
  'Content-Encoding must be gzip or identity': 'Content-Encoding은 gzip이나 identity여야 합니다',
  'Content-Encoding is not allowed for images': '이미지에는 Content-Encoding을 쓸 수 없습니다',
  'an image with this key already exists with different bytes':
    '같은 키의 이미지가 다른 내용으로 이미 있습니다',
  'the image is empty': '이미지가 비어 있습니다',
  'the body is not a JPEG': '본문이 JPEG가 아닙니다',
  'there is no cycle {}': '없는 cycle입니다: {}',
  'cycle {} is stored with a different body': '다른 본문으로 이미 저장된 cycle입니다: {}',
  'cycle {} has already been scored, and its record has expired':
    '이미 채점했고 보관 기간이 지난 cycle입니다: {}',
  'too many cycles are waiting to be decoded': '해석을 기다리는 cycle이 너무 많습니다',
  'too many cycles are queued': '대기 중인 cycle이 너무 많습니다',
  'too many images are waiting to be checked': '검사를 기다리는 이미지가 너무 많습니다',
  'too many weight changes are queued': '대기 중인 가중치 변경이 너무 많습니다',
  'too many bytes of bodies are held': '받고 있는 본문이 너무 많습니다',
  'too many large bodies are arriving': '큰 본문이 너무 많이 들어오고 있습니다',
  'this process is a standby; send the request again':
    '이 프로세스는 대기(standby) 상태입니다. 요청을 다시 보내야 합니다',
  'the service is shutting down': '서비스가 종료하는 중입니다',
  'storage refuses writes': '저장소가 쓰기를 거부합니다',
  'no model is loaded': '불러온 모델이 없습니다',
  'the model failed': '모델이 채점에 실패했습니다',
  'the storage failed': '저장소 오류입니다',
  'the storage cannot be read': '저장소를 읽을 수 없습니다',
  'the weights are not usable': '쓸 수 없는 가중치입니다',
  'this version already exists with different weights': '같은 버전이 다른 가중치로 이미 있습니다',
}

export const saidSentences = Object.keys(said)

/** A sentence of the service in Korean; null if the table lacks it. */
export function koreanOf(text: string): string | null {
  for (const [sentence, korean] of Object.entries(said)) {
    const filled = filledIn(sentence, text)
    if (filled === null) continue
    return filled.reduce<string>((whole, part) => whole.replace('{}', () => part), korean)
  }
  return null
}

/** What stands in the places of `{}`; null if `text` is another sentence. */
function filledIn(sentence: string, text: string): string[] | null {
  const [first = '', ...others] = sentence.split('{}')
  if (others.length === 0) return text === sentence ? [] : null
  if (!text.startsWith(first)) return null
  const filled: string[] = []
  let at = first.length
  for (const [i, piece] of others.entries()) {
    const isLast = i === others.length - 1
    const end =
      isLast && piece === '' ? text.length : isLast ? text.length - piece.length : text.indexOf(piece, at)
    if (end < at || !text.startsWith(piece, end)) return null
    filled.push(text.slice(at, end))
    at = end + piece.length
  }
  return filled
}
