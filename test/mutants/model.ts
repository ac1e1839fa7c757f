/** Mutants of src/model. */
import type { MutantGroup } from './mutant.js'

export const modelMutants: readonly MutantGroup[] = [
  {
    file: 'src/model/lifecycle/machine.ts',
    killedBy: ['src/model/lifecycle/machine.test.ts'],
    mutants: [
      {
        breaks: 'a version that fails waits twice as long each time',
        find: 'Math.min(2 * entry.failure.retryMs, retryMsMax)',
        replace: 'entry.failure.retryMs',
      },
      {
        breaks: 'the back-off has a maximum',
        find: 'Math.min(2 * entry.failure.retryMs, retryMsMax)',
        replace: '2 * entry.failure.retryMs',
      },
      {
        breaks: 'a version that is due at this very time is loaded',
        find: 'nowMs >= failure.retryAtMs',
        replace: 'nowMs > failure.retryAtMs',
      },
      {
        breaks: 'the version that served is released when another one takes over',
        find: 'if (serving !== undefined) this.#drop(serving)',
        replace: 'if (serving !== undefined) this.next = { ...this.next, entries: [entry] }',
      },
      {
        breaks: 'a load that is no longer wanted is cancelled',
        find: "if (entry.state === 'loading') this.commands.push({ kind: 'cancel', entry })",
        replace: '',
      },
      {
        breaks: 'shadows wait for the version that is to serve',
        find: "if (!this.#isLoading('active')) this.#startFirst('shadow', nowMs)",
        replace: "this.#startFirst('shadow', nowMs)",
      },
      {
        breaks: 'the version that serves is not a shadow too',
        find: 'versions.filter((version) => version !== serving?.version)',
        replace: 'versions',
      },
      {
        breaks: 'after the end no event has an effect',
        find: 'if (!work.next.closed) work.reconcile(nowMs)',
        replace: 'work.reconcile(nowMs)',
      },
    ],
  },
  {
    file: 'src/model/package/parse-typed.ts',
    killedBy: ['src/model/package/parse-typed.test.ts', 'src/model/package/read-package.test.ts'],
    mutants: [
      {
        breaks: 'an unknown member is called unknown',
        find: "if (expected === 'undefined') return `${subject} is not known`",
        replace: '',
      },
      {
        breaks: 'of very many problems the first 50 are listed',
        find: 'problems.slice(0, problemsMax)',
        replace: 'problems',
      },
    ],
  },
  {
    file: 'src/model/package/identity.ts',
    killedBy: ['src/model/package/identity.test.ts'],
    mutants: [
      {
        breaks: 'the pooling over the images of a post is part of the identity of a model',
        find: '[imageEncoderHash(image, identityPreprocessing), image.pooling]',
        replace: '[imageEncoderHash(image, identityPreprocessing)]',
      },
      {
        breaks: 'the activation of a head is part of the identity',
        find: "[output.name, output.column ?? 0, output.activation ?? 'none']",
        replace: '[output.name, output.column ?? 0]',
      },
      {
        breaks: 'the template of texts is part of the encoder',
        find: 'template,\n    tokens_max,',
        replace: 'tokens_max,',
      },
      {
        breaks: 'values for missing features are part of the identity',
        find: "missing: missing ?? 'imputed',",
        replace: "missing: 'imputed',",
      },
    ],
  },
  {
    file: 'src/model/package/read-package.ts',
    killedBy: ['src/model/package/read-package.test.ts'],
    mutants: [
      {
        breaks: 'a manifest of another version is refused',
        find: 'if (manifest.model_version !== version) {',
        replace: 'if (manifest.model_version.length < 1) {',
      },
      {
        breaks: 'a feature that the catalogue lacks is refused',
        find: 'if (unknown.length > 0) {',
        replace: 'if (unknown.length > 2) {',
      },
    ],
  },
  {
    file: 'src/model/sessions/pooling.ts',
    killedBy: ['src/model/sessions/pooling.test.ts'],
    mutants: [
      {
        breaks: 'padding is not part of a mean',
        find: 'const count = tokenCount ?? size / dim',
        replace: 'const count = size / dim',
      },
      { breaks: 'a vector of zeros stays one', find: 'if (length === 0) return', replace: '' },
      {
        breaks: 'a vector that is not finite counts as none',
        find: 'if (!isFinite) target.fill(0)',
        replace: '',
      },
      {
        breaks: 'the mean of tokens takes every dim-th value',
        find: 'mean(one, column, dim, count)',
        replace: 'mean(one, column * count, 1, count)',
      },
      {
        breaks: 'the second item has its own values',
        find: 'values.subarray(item * size, (item + 1) * size)',
        replace: 'values.subarray(0, size)',
      },
    ],
  },
  {
    file: 'src/model/text/html-text.ts',
    killedBy: ['src/model/text/html-text.test.ts'],
    mutants: [
      {
        breaks: 'scripts are no text',
        find: 'if (this.#hiddenDepth > 0 || this.isTooDeep) return',
        replace: 'if (this.isTooDeep) return',
      },
      {
        breaks: 'a cut text ends with a whole character',
        find: 'text.slice(0, isCut ? charsMax - 1 : charsMax)',
        replace: 'text.slice(0, charsMax)',
      },
      {
        breaks: 'blocks separate words',
        find: "if (blockElements.has(name)) this.#gap = '\\n'\n    else if",
        replace: 'if',
      },
    ],
  },
  {
    file: 'src/model/text/batches.ts',
    killedBy: ['src/model/text/batches.test.ts'],
    mutants: [
      {
        breaks: 'a batch of exactly the maximum of tokens is one batch',
        find: '* lengthOf(row) > tokensMax)',
        replace: '* lengthOf(row) >= tokensMax)',
      },
    ],
  },
  {
    file: 'src/model/text/post-text.ts',
    killedBy: ['src/model/text/post-text.test.ts'],
    mutants: [
      {
        breaks: 'a text that contains a placeholder is not a template',
        find: "parts.map((part) => (part === '{title}' ? title : part === '{body}' ? body : part)).join('')",
        replace: "template.replace('{title}', title).replace('{body}', body)",
      },
    ],
  },
  {
    file: 'src/model/text/tokenizer.ts',
    killedBy: ['src/model/text/tokenizer.test.ts'],
    mutants: [
      {
        breaks: 'special tokens count among the tokens',
        find: 'options.tokens_max - (frame.length - 1)',
        replace: 'options.tokens_max',
      },
      {
        breaks: 'golden tokens that differ are refused',
        find: 'found.some((id, index) => id !== ids[index])',
        replace: 'found.some((id) => id < 0)',
      },
      {
        breaks: 'the padding token is that of the tokenizer',
        find: 'padding?.pad_id ?? added.find(',
        replace: 'added.find(',
      },
    ],
  },
  {
    file: 'src/model/image/preprocess.ts',
    killedBy: ['src/model/image/preprocess.test.ts'],
    mutants: [
      {
        breaks: 'a crop is from the middle',
        find: 'const left = Math.floor((size.width - width) / 2)',
        replace: 'const left = 0',
      },
      {
        breaks: 'the longer edge is rounded down',
        find: '{ width: shortestEdge, height: Math.floor((shortestEdge * height) / width) }',
        replace: '{ width: shortestEdge, height: Math.ceil((shortestEdge * height) / width) }',
      },
      {
        breaks: 'bgr swaps the channels',
        find: "options.channels === 'rgb' ? channel : channelCount - 1 - channel",
        replace: 'channel',
      },
      {
        breaks: 'values are scaled before the mean is subtracted',
        find: '(byte * scale - middle) / spread',
        replace: '((byte - middle) * scale) / spread',
      },
    ],
  },
  {
    file: 'src/model/image/resample.ts',
    killedBy: ['src/model/image/resample.test.ts'],
    mutants: [
      {
        breaks: 'an enlarged image is not shifted',
        find: 'const centre = (first + pixel + 0.5) * step',
        replace: 'const centre = (first + pixel) * step + 0.5',
      },
      {
        breaks: 'a reduced image is antialiased',
        find: 'const spread = Math.max(1, step)',
        replace: 'const spread = 1',
      },
      {
        breaks: 'rows are rounded before columns',
        find: 'let green = half',
        replace: 'let green = half - 1',
      },
      {
        breaks: 'weights are rounded as in Pillow',
        find: 'Math.trunc(scaled < 0 ? scaled - 0.5 : scaled + 0.5)',
        replace: 'Math.trunc(scaled)',
      },
      {
        breaks: 'overshoot is cut off',
        find: 'value < 0 ? 0 : value > 255 ? 255 : value',
        replace: 'value',
      },
    ],
  },
  {
    file: 'src/model/sessions/head-shares.ts',
    killedBy: ['src/model/sessions/head-shares.test.ts'],
    mutants: [
      {
        breaks: 'NaN is not a share',
        find: 'if (value >= 0 && value <= 1) continue',
        replace: 'if (!(value < 0 || value > 1)) continue',
      },
      { breaks: 'a rounding error above 1 becomes 1', find: 'values[row] = value < 0 ? 0 : 1', replace: '' },
    ],
  },
  {
    file: 'src/model/verification/golden.ts',
    killedBy: ['src/model/verification/golden.test.ts'],
    mutants: [
      {
        breaks: 'a head that differs by more than the tolerance is a miss',
        find: 'manifest.golden?.tolerance ?? goldenToleranceDefault',
        replace: '1',
      },
      {
        breaks: 'a head of a golden case that the model lacks is a miss',
        find: 'heads[head]?.[row] ?? NaN',
        replace: 'heads[head]?.[row] ?? expected',
      },
      {
        breaks: 'golden cases must have the features of the manifest',
        find: 'const lacking = names.filter((name) => features[name] === undefined)',
        replace: 'const lacking = names.filter((name) => features[name] === null)',
      },
    ],
  },
  {
    file: 'src/model/features/embedding-rows.ts',
    killedBy: ['src/model/features/embedding-rows.test.ts'],
    mutants: [
      {
        breaks: 'a row without a vector has the value for missing ones',
        find: 'if (vector < 0) matrix.fill(missing, start, start + dim)',
        replace: 'if (vector < 0) matrix.fill(0, start, start + dim)',
      },
    ],
  },
  {
    file: 'src/model/sessions/heads-program.ts',
    killedBy: ['src/model/sessions/heads-program.test.ts'],
    mutants: [
      {
        breaks: 'a clipped value is at least 0',
        find: 'Math.min(Math.max(value, 0), 1)',
        replace: 'Math.min(value, 1)',
      },
      {
        breaks: 'the second column of an output is the second head',
        find: 'row < target.length; row++, at += columnCount',
        replace: 'row < target.length; row++, at += 1',
      },
    ],
  },
  {
    file: 'src/model/sessions/session-host.ts',
    killedBy: ['src/model/sessions/session-host.test.ts'],
    mutants: [
      {
        breaks: 'a process that ends is replaced',
        find: '    this.#scheduleRestart(reason)\n    this.#options.onProcessLost',
        replace: '    this.#options.onProcessLost',
      },
    ],
  },
  {
    file: 'src/model/package/read-file.ts',
    killedBy: ['src/model/verification/golden.test.ts'],
    mutants: [
      {
        breaks: 'a file with another hash is not used',
        find: 'if (found === sha256) return bytes',
        replace: 'if (found !== null) return bytes',
      },
    ],
  },
  {
    file: 'src/model/lifecycle/status-file.ts',
    killedBy: ['src/model/lifecycle/status-file.test.ts'],
    mutants: [
      {
        breaks: 'the partial file follows no link',
        find: 'await rm(partial, { force: true })',
        replace: '',
        also: [{ find: ", flag: 'wx'", replace: '' }],
      },
      {
        breaks: 'a file of a server that has ended is not read',
        find: 'Date.now() - mtimeMs > ageMsMax',
        replace: 'Date.now() - mtimeMs < 0',
      },
    ],
  },
]
