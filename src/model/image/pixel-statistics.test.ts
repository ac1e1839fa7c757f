/**
 * Statistics of a tensor: each channel by name, whatever the layout and the order of the channels.
 */
import { expect, test } from 'vitest'
import { pixelStatistics } from './pixel-statistics.js'

const resize = { width: 2, height: 1 }
const channel = (name: string, low: number, high: number) => ({
  channel: name,
  mean: (low + high) / 2,
  std: (high - low) / 2,
  min: low,
  max: high,
})

test('names the channels in the order of the tensor, in both layouts', () => {
  const planes = Float32Array.of(1, 3, 10, 30, 100, 300)
  expect(pixelStatistics(planes, { resize, crop: null, layout: 'nchw', channels: 'rgb' })).toEqual({
    shape: [1, 3, 1, 2],
    channels: [channel('red', 1, 3), channel('green', 10, 30), channel('blue', 100, 300)],
  })
  const pixels = Float32Array.of(1, 10, 100, 3, 30, 300)
  expect(pixelStatistics(pixels, { resize, crop: null, layout: 'nhwc', channels: 'bgr' })).toEqual({
    shape: [1, 1, 2, 3],
    channels: [channel('blue', 1, 3), channel('green', 10, 30), channel('red', 100, 300)],
  })
})
