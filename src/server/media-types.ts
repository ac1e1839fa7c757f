/**
 * Checks the media type and the content encoding of a request (docs/contract.md).
 */
import { ServiceError } from '../contract/index.js'

/** Any charset is accepted: JSON is UTF-8. Parameters may be empty (RFC 9110, 5.6.6). */
const jsonType = /^\s*application\/json\s*(;\s*(charset\s*=\s*("[^"]*"|[^\s;",]+)\s*)?)*$/i

/** Allows any parameters. A comma would start another type. */
const jpegType = /^\s*image\/jpeg\s*(;("[^"]*"|[^",])*)?$/i

/** Checks the headers of a JSON body. Returns true for gzip. */
export function checkJsonHeaders(contentType: string, contentEncoding: string): boolean {
  if (contentType !== '' && !jsonType.test(contentType)) {
    throw new ServiceError({ code: 'json_type_expected' })
  }
  const encoding = contentEncoding.trim().toLowerCase()
  if (encoding !== '' && encoding !== 'identity' && encoding !== 'gzip') {
    throw new ServiceError({ code: 'unknown_encoding' })
  }
  return encoding === 'gzip'
}

export function checkImageHeaders(contentType: string, contentEncoding: string): void {
  if (!jpegType.test(contentType)) {
    throw new ServiceError({ code: 'jpeg_type_expected' })
  }
  if (contentEncoding !== '') {
    throw new ServiceError({ code: 'encoded_image' })
  }
}
