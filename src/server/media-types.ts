/**
 * What a request says of its body: media type and content encoding (decisions.md 5 and 30).
 */
import { ServiceError } from '../contract/index.js'

/** With or without a charset, whatever it says: JSON is UTF-8. Parameters may be empty (RFC 9110, 5.6.6). */
const jsonType = /^\s*application\/json\s*(;\s*(charset\s*=\s*("[^"]*"|[^\s;",]+)\s*)?)*$/i

/** With any parameters. A comma would begin another type. */
const jpegType = /^\s*image\/jpeg\s*(;("[^"]*"|[^",])*)?$/i

/** Checks the headers of a JSON route. True when the body is gzip. */
export function checkJsonHeaders(contentType: string, contentEncoding: string): boolean {
  if (contentType !== '' && !jsonType.test(contentType)) {
    throw new ServiceError(
      'unsupported_media_type',
      'Content-Type must be application/json, with a charset or without',
    )
  }
  const encoding = contentEncoding.trim().toLowerCase()
  if (encoding !== '' && encoding !== 'identity' && encoding !== 'gzip') {
    throw new ServiceError('unsupported_media_type', 'Content-Encoding must be gzip or identity')
  }
  return encoding === 'gzip'
}

export function checkImageHeaders(contentType: string, contentEncoding: string): void {
  if (!jpegType.test(contentType)) {
    throw new ServiceError('unsupported_media_type', 'Content-Type must be image/jpeg')
  }
  if (contentEncoding !== '') {
    throw new ServiceError('unsupported_media_type', 'an image takes no Content-Encoding')
  }
}
