/**
 * What a request says of its body: media type and content encoding (decisions.md 5 and 30).
 */
import { ServiceError } from '../contract/index.js'

/** Checks the headers of a JSON route. True when the body is gzip. */
export function checkJsonHeaders(contentType: string, contentEncoding: string): boolean {
  if (contentType !== '' && mediaType(contentType) !== 'application/json') {
    throw new ServiceError('unsupported_media_type', 'Content-Type must be application/json')
  }
  const encoding = contentEncoding.trim().toLowerCase()
  if (encoding !== '' && encoding !== 'identity' && encoding !== 'gzip') {
    throw new ServiceError('unsupported_media_type', 'Content-Encoding must be gzip or identity')
  }
  return encoding === 'gzip'
}

export function checkImageHeaders(contentType: string, contentEncoding: string): void {
  if (mediaType(contentType) !== 'image/jpeg') {
    throw new ServiceError('unsupported_media_type', 'Content-Type must be image/jpeg')
  }
  if (contentEncoding !== '') {
    throw new ServiceError('unsupported_media_type', 'an image takes no Content-Encoding')
  }
}

function mediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] as string).trim().toLowerCase()
}
