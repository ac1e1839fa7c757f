/**
 * Preprocesses a JPEG as in the training of the encoder: decoded, resized, cropped, channels in order, values scaled and
 * normalised unless the graph takes the bytes.
 */
import sharp from 'sharp'
import type { RgbPixels } from '../../codec/index.js'
import { pixelSize } from './image-ports.js'
import { cropped, padded } from './pad.js'
import type { ImageSettings } from '../package/settings.js'
import { resample, type Size } from './resample.js'

export type PreprocessOptions = Pick<
  ImageSettings,
  'resize' | 'pad' | 'crop' | 'interpolation' | 'channels' | 'layout' | 'scale' | 'mean' | 'std'
>

const channelCount = 3
const byteCount = 256

/** Values of images in the tensor; bytes if the pixels are not normalised. */
export type PixelValues = Float32Array | Uint8Array

// Images are encoded in the background while cycles run: one thread per image. None is decoded twice.
sharp.concurrency(1)
sharp.cache(false)

// Only the first picture of a file is read, and damage to it is an error: see src/images.
sharp.block({ operation: ['VipsForeignLoadUhdr'] })

export class Preprocessor {
  /** Values of one image in the tensor. */
  readonly valueCount: number
  readonly #options: PreprocessOptions
  readonly #size: Size
  /** The channel's offset in a pixel and the value of each byte, in the order of the tensor. */
  readonly #channels: readonly { readonly source: number; readonly values: PixelValues }[]

  constructor(options: PreprocessOptions) {
    this.#options = options
    this.#size = pixelSize(options)
    this.valueCount = this.#size.width * this.#size.height * channelCount
    this.#channels = Array.from({ length: channelCount }, (_, channel) => ({
      source: options.channels === 'rgb' ? channel : channelCount - 1 - channel,
      values: byteValues(options, channel),
    }))
  }

  /** Zeros for so many images. */
  emptyTensor(imageCount: number): PixelValues {
    const length = imageCount * this.valueCount
    return this.#options.mean === null ? new Uint8Array(length) : new Float32Array(length)
  }

  /** The tensor of one image. Rejects bytes that are not a valid JPEG. */
  async tensorOf(jpeg: Uint8Array): Promise<PixelValues> {
    const target = this.emptyTensor(1)
    this.write(this.resized(await decodeJpeg(jpeg)), target, 0)
    return target
  }

  /** Writes the pixels of a resized image into the tensor of several. */
  write(pixels: Uint8Array, target: PixelValues, row: number): void {
    const count = this.#size.width * this.#size.height
    const isPlanar = this.#options.layout === 'nchw'
    for (const [channel, { source, values }] of this.#channels.entries()) {
      const step = isPlanar ? 1 : channelCount
      let to = row * this.valueCount + (isPlanar ? channel * count : channel)
      for (let pixel = 0, from = source; pixel < count; pixel++, from += channelCount, to += step) {
        target[to] = values[pixels[from]!]!
      }
    }
  }

  /** The middle of the resized image. An odd margin is larger at the end, as in Hugging Face's processors. */
  resized(image: RgbPixels): Uint8Array {
    const { pad, interpolation } = this.#options
    const size = this.#scaledSize(image)
    const { width, height } = this.#size
    const left = Math.floor((size.width - width) / 2)
    const top = Math.floor((size.height - height) / 2)
    const region = { left, top, width, height }
    return pad === null
      ? resample(image, size, region, interpolation)
      : cropped(padded(image, size, pad, interpolation), region)
  }

  /** The size before the crop. The longer edge is rounded down, as in torchvision and Hugging Face. */
  #scaledSize({ width, height }: Size): Size {
    const { resize } = this.#options
    if (!('shortest_edge' in resize)) return resize
    const { shortest_edge: shortestEdge } = resize
    return width <= height
      ? { width: shortestEdge, height: Math.floor((shortestEdge * height) / width) }
      : { width: Math.floor((shortestEdge * width) / height), height: shortestEdge }
  }
}

/** Runs on a thread of libuv. Rejects bytes that are not a valid JPEG. */
export async function decodeJpeg(jpeg: Uint8Array): Promise<RgbPixels> {
  const { data, info } = await sharp(jpeg).toColourspace('srgb').raw().toBuffer({ resolveWithObject: true })
  if (info.channels !== channelCount) throw new Error(`the image has ${info.channels} channels`)
  return { width: info.width, height: info.height, data }
}

/** The value of each byte of a channel in the tensor. */
function byteValues({ scale, mean, std }: PreprocessOptions, channel: number): PixelValues {
  if (mean === null || std === null) return Uint8Array.from({ length: byteCount }, (_, byte) => byte)
  const [middle, spread] = [mean[channel]!, std[channel]!]
  return Float32Array.from({ length: byteCount }, (_, byte) => (byte * scale - middle) / spread)
}
