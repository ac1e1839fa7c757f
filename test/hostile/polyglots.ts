/**
 * JPEGs that are valid files of another format too: archives, pages, scripts, documents.
 */
import { crc32 } from 'node:zlib'
import { segmentOf, smallJpeg } from '../harness/jpeg.js'
import { payload } from './images.js'

export interface Polyglot {
  readonly name: string
  readonly bytes: Buffer
  /** Of the upload. */
  readonly status: 201 | 400 | 415
}

/** A zip with one stored file, whose offsets count from `startsAt`. */
function zipOf(content: string, startsAt: number): Buffer {
  const name = Buffer.from('index.html')
  const bytes = Buffer.from(content)
  const shared = Buffer.alloc(26)
  shared.writeUInt16LE(20, 0)
  shared.writeUInt32LE(crc32(bytes), 10)
  shared.writeUInt32LE(bytes.length, 14)
  shared.writeUInt32LE(bytes.length, 18)
  shared.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), shared, name, bytes])
  const central = Buffer.concat([
    Buffer.from('PK\x01\x02\x14\x00', 'latin1'),
    shared,
    Buffer.alloc(10),
    Buffer.from(Uint32Array.of(startsAt).buffer),
    name,
  ])
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(startsAt + local.length, 16)
  return Buffer.concat([local, central, end])
}

/** Each is a valid image unless its status is an error. */
export async function polyglots(): Promise<Polyglot[]> {
  const plain = await smallJpeg(77)
  const within = (...segments: Buffer[]): Buffer =>
    Buffer.concat([plain.subarray(0, 2), ...segments, plain.subarray(2)])
  const followedBy = (bytes: Buffer | string): Buffer => Buffer.concat([plain, Buffer.from(bytes as string)])
  const page = `<!doctype html><html><body>${payload}</body></html>`
  const table = Buffer.alloc(65, 1)
  table[0] = 3 // A quantisation table that no component uses.
  table.write('understudy-payload', 1)
  return [
    { name: 'an archive after it', bytes: followedBy(zipOf(page, plain.length)), status: 201 },
    { name: 'an archive in a comment', bytes: within(segmentOf(0xfe, zipOf(page, 6))), status: 201 },
    { name: 'a page after it', bytes: followedBy(page), status: 201 },
    { name: 'a page in a comment', bytes: within(segmentOf(0xfe, `*/${page}<!--`)), status: 201 },
    {
      name: 'a document in a comment',
      bytes: within(segmentOf(0xfe, `\n%PDF-1.7\n%${payload}`)),
      status: 201,
    },
    { name: 'a script in a comment', bytes: within(segmentOf(0xfe, `*/=1;${payload};/*`)), status: 201 },
    {
      name: 'a page as XMP',
      bytes: within(segmentOf(0xe1, `http://ns.adobe.com/xap/1.0/\0${page}`)),
      status: 201,
    },
    {
      name: 'a page as a colour profile',
      bytes: within(segmentOf(0xe2, `ICC_PROFILE\0\x01\x01${page}`)),
      status: 201,
    },
    {
      name: 'a page as resources of an editor',
      bytes: within(segmentOf(0xed, `Photoshop 3.0\0${page}`)),
      status: 201,
    },
    { name: 'words in a table that nothing uses', bytes: within(segmentOf(0xdb, table)), status: 201 },
    { name: 'many comments', bytes: within(...Array<Buffer>(200).fill(segmentOf(0xfe, page))), status: 201 },
    { name: 'a GIF first', bytes: Buffer.concat([Buffer.from(`GIF89a/*${payload}*/`), plain]), status: 415 },
    { name: 'an archive first', bytes: Buffer.concat([zipOf(page, 0), plain]), status: 415 },
    { name: 'a page first', bytes: Buffer.concat([Buffer.from(page), plain]), status: 415 },
    {
      name: 'a GIF after a signature',
      bytes: Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.from(`GIF89a${payload}`)]),
      status: 400,
    },
  ]
}
