/**
 * Files that were delivered in place of a graph.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sigmoidGraph, temporaryModelsDir, writePackage } from '../../../test/helpers/model-packages.js'
import { readHashed } from './read-file.js'
import { readPackage } from './read-package.js'

test.each([
  ['an HTML page', '<!doctype html><title>Sign in</title>', /: it is an HTML page/],
  ['an HTML page after a comment', '\ufeff<!-- 1 -->\n<html>', /: it is an HTML page/],
  ['empty', '', /: it is empty/],
  ['a Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\n', /: it is a Git LFS pointer/],
  ['another graph', Buffer.concat([sigmoidGraph, Buffer.of(0x32, 0)]), /the manifest states [0-9a-f]{64}$/],
])('the error for a file with another hash that is %s names its format', async (_, content, message) => {
  const directory = temporaryModelsDir()
  writePackage(directory, 'v1', sigmoidGraph)
  writeFileSync(join(directory, 'v1', 'head.onnx'), content)
  const [file] = (await readPackage(directory, 'v1')).files
  await expect(readHashed(file!.path, file!.sha256)).rejects.toThrow(message)
})
