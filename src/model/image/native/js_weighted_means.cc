// See js_weighted_means.h.
#include "js_weighted_means.h"

#include "weighted_means.h"

namespace understudy {

namespace {

/// The arrays must not be collected before the means are written: the caller's arguments hold them.
rgb_pixels read_pixels(const Napi::Value& value) {
  const auto image = value.As<Napi::Object>();
  const auto data = image.Get("data").As<Napi::Uint8Array>();
  const size_t width = image.Get("width").As<Napi::Number>().Uint32Value();
  const size_t height = image.Get("height").As<Napi::Number>().Uint32Value();
  if (data.ByteLength() < width * height * channel_count)
    throw Napi::RangeError::New(value.Env(), "the image has fewer bytes than its size");
  return {data.Data(), width, height};
}

line_weights read_line(const Napi::Value& value, size_t length) {
  const auto object = value.As<Napi::Object>();
  const size_t count = object.Get("count").As<Napi::Number>().Uint32Value();
  const size_t weights_max = object.Get("weightsMax").As<Napi::Number>().Uint32Value();
  const auto starts = object.Get("starts").As<Napi::Int32Array>();
  const auto lengths = object.Get("lengths").As<Napi::Int32Array>();
  const auto weights = object.Get("weights").As<Napi::Int32Array>();
  const line_weights line = {count, starts.Data(), lengths.Data(), weights.Data(), weights_max};
  if (starts.ElementLength() < count || lengths.ElementLength() < count ||
      weights.ElementLength() < count * weights_max || !is_sound(line, length))
    throw Napi::RangeError::New(value.Env(), "the weights do not match the image");
  return line;
}

}  // namespace

Napi::Value js_weighted_means(const Napi::CallbackInfo& info) {
  const rgb_pixels image = read_pixels(info[0]);
  const line_weights columns = read_line(info[1], image.width);
  const line_weights rows = read_line(info[2], image.height);
  auto target = Napi::Uint8Array::New(info.Env(), columns.count * rows.count * channel_count);
  write_weighted_means(image, columns, rows, target.Data());
  return target;
}

}  // namespace understudy
