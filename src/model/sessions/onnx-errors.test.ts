/** Errors of ONNX Runtime, as it words them. */
import { expect, test } from 'vitest'
import { reasonOf } from './onnx-errors.js'

test('webgpu without a device names what it needs', () => {
  const error = new Error(
    '/onnxruntime_src/onnxruntime/core/providers/webgpu/webgpu_context.cc:136 ' +
      'onnxruntime::webgpu::WebGpuContext::Initialize(const onnxruntime::webgpu::WebGpuContextConfig&)::<lambda()> ' +
      'adapter_result.status == wgpu::RequestAdapterStatus::Success was false. Failed to get a WebGPU adapter: ' +
      'No supported adapters.\n',
  )
  expect(reasonOf(error)).toBe(
    'no device: it needs a Vulkan loader (libvulkan1) and a driver, which VK_DRIVER_FILES selects; see docs/gpu.md (Failed to ' +
      'get a WebGPU adapter: No supported adapters)',
  )
})
