/**
 * What the service itself says, in Korean: why it refuses a request of the page or of a client.
 * The key is the sentence of the service; `{}` stands for what it fills in. `test/page/said.test.ts`
 * compares the table with the sources. A sentence that the table lacks is shown as it is.
 */
const said: Readonly<Record<string, string>> = {
  // Requests of the page.
  'unknown path': '없는 주소입니다',
  'this is not the admin token': '관리자 토큰이 아닙니다',
  'the admin token is missing or wrong: open the address that the service prints at startup, or send Authorization: Bearer with the content of admin-token in the data directory':
    '로그인이 만료되었습니다. 서비스가 시작할 때 출력한, 토큰이 든 주소로 다시 접속하세요',
  'the form cannot be read': '입력한 내용을 읽을 수 없습니다',
  'allowed methods: {}': '허용되지 않는 메서드입니다(허용: {})',
  'too many event streams are open': '열려 있는 화면이 너무 많습니다',
  'too many requests for stored cycles': '저장된 cycle을 읽는 요청이 너무 많습니다',
  'too many reports are in progress': '처리 중인 보고서가 너무 많습니다. 잠시 뒤 다시 시도하세요',
  'no client waits for the result': '결과를 기다리는 화면이 없어 중단했습니다',
  'the service is stopping': '서비스가 종료하는 중입니다',
  'this post is not pending': '대기 중인 글이 아닙니다',
  'there is no such package': '그런 모델 패키지가 없습니다',
  'there is no other version to compare with': '비교할 다른 버전이 없습니다',
  'there is no such image': '그런 이미지가 없습니다',
  'the store has no such cycle': '저장된 cycle 중에 없습니다',
  'list must be calls, other or stored': 'list는 calls, other, stored 중 하나여야 합니다',
  '{} must be an integer from {} to {}': '{} 값은 {}에서 {} 사이의 정수여야 합니다',
  '{} must be a cycle_id': '{} 값은 cycle_id여야 합니다',
  'internal error': '서비스 내부 오류입니다. 자세한 내용은 서비스 로그에 있습니다',

  // Stored cycles.
  'the data directory has no cycles': '저장된 cycle이 없습니다',
  'the data directory has no cycle {}: {}': '저장되지 않은 cycle입니다: {}({})',
  'it has no cycles': '저장된 cycle이 없음',
  'the first to arrive was {}, the last {}': '처음 {}, 마지막 {}',
  'no stored cycle has the post {} as a candidate': '저장된 cycle 중에 이 글({})이 들어온 것이 없습니다',
  'the post cannot be explained: cycle {} has no score of {}: {}':
    'cycle {}에 이 글({})의 점수가 없어 이유를 보여 줄 수 없습니다({})',
  'it was not pending': '대기 중이 아니었음',
  'the files of {} differ from those that a server has loaded as {}; rename the new package to another version':
    '{} 패키지의 파일이 서버가 불러온 {} 버전과 다릅니다. 새 패키지의 버전 이름을 바꾸세요',

  // Why a call failed.
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
    const parts = filled.map((part) => koreanOf(part) ?? part)
    return parts.reduce((whole, part) => whole.replace('{}', () => part), korean)
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
