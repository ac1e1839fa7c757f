// Bodies of http_framing.h.
#include "http_framing.h"

#include <algorithm>
#include <cstring>

namespace understudy {
namespace {

char lower(char byte) noexcept { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte; }

// Whether `line` is a header of the given lower-case name, colon included.
bool names(const char *line, std::size_t size, const char *name) noexcept {
  const std::size_t length = std::strlen(name);
  if (size < length) return false;
  for (std::size_t i = 0; i < length; i++) {
    if (lower(line[i]) != name[i]) return false;
  }
  return true;
}

// uWebSockets trims values with `char < 33`, and a char is signed: it cuts bytes from 0x80 on off both ends, so that a
// key followed by such a byte would pass for the key. In their place a byte that no key holds keeps it another one.
char masked(char byte) noexcept { return static_cast<unsigned char>(byte) >= 0x80 ? '\x7f' : byte; }

}  // namespace

std::size_t http_framing::advance(char *data, std::size_t size) noexcept {
  std::size_t at = 0;
  if (size > 0) fresh_ = false;
  while (at < size) {
    if (stage_ == stage::opaque) return size;
    if (stage_ == stage::body || stage_ == stage::chunk_data) {
      std::uint64_t &left = stage_ == stage::body ? left_ : chunk_left_;
      const std::uint64_t taken = std::min<std::uint64_t>(left, size - at);
      left -= taken;
      at += static_cast<std::size_t>(taken);
      if (left > 0) return size;
      if (stage_ == stage::body) {
        stage_ = stage::head;
        return at;
      }
      stage_ = stage::chunk_end;
    } else if (stage_ == stage::head) {
      if (take_head_byte(data, at++) && stage_ == stage::head) return at;
    } else if (take_chunk_byte(data[at++])) {
      return at;
    }
  }
  return size;
}

void http_framing::skip_body(std::uint64_t size) noexcept {
  left_ -= std::min(left_, size);
  if (left_ == 0) stage_ = stage::head;
}

// True when the head ends with this byte; then `stage_` says what follows, `head` standing for the next request.
bool http_framing::take_head_byte(char *data, std::size_t at) noexcept {
  const char byte = data[at];
  if (byte != '\n') {
    if (line_size_ < line_bytes_max) line_[line_size_++] = byte;
    if (byte != '\r') line_empty_ = false;
    // A value may be long and arrive in pieces, so its bytes are masked as they come.
    if (names(line_, line_size_, "authorization:")) data[at] = masked(byte);
    return false;
  }
  if (!line_empty_) {
    end_header_line();
    return false;
  }
  line_size_ = 0;
  begin_body();
  return true;
}

void http_framing::end_header_line() noexcept {
  constexpr const char *length_name = "content-length:";
  if (names(line_, line_size_, length_name)) {
    length_known_ = true;
    length_ = 0;
    for (std::size_t i = std::strlen(length_name); i < line_size_; i++) {
      const char byte = line_[i];
      if (byte >= '0' && byte <= '9' && length_ < UINT64_MAX / 16) length_ = length_ * 10 + static_cast<unsigned>(byte - '0');
    }
  } else if (names(line_, line_size_, "transfer-encoding:")) {
    chunked_ = true;
  }
  line_size_ = 0;
  line_empty_ = true;
}

void http_framing::begin_body() noexcept {
  stage_ = chunked_ ? stage::chunk_size : (length_known_ && length_ > 0 ? stage::body : stage::head);
  left_ = length_;
  chunked_ = length_known_ = false;
  chunk_left_ = 0;
  chunk_extension_ = false;
  line_empty_ = true;
}

// True when the body, trailers included, ends with this byte.
bool http_framing::take_chunk_byte(char byte) noexcept {
  switch (stage_) {
    case stage::chunk_size: {
      const char digit = lower(byte);
      if (byte == '\n') {
        chunk_extension_ = false;
        stage_ = chunk_left_ == 0 ? stage::trailer : stage::chunk_data;
        line_empty_ = true;
      } else if (byte == ';') {
        chunk_extension_ = true;
      } else if (!chunk_extension_ && digit >= '0' && digit <= '9') {
        chunk_left_ = chunk_left_ * 16 + static_cast<unsigned>(digit - '0');
      } else if (!chunk_extension_ && digit >= 'a' && digit <= 'f') {
        chunk_left_ = chunk_left_ * 16 + static_cast<unsigned>(digit - 'a' + 10);
      } else if (byte != '\r' && !chunk_extension_) {
        stage_ = stage::opaque;
      }
      return false;
    }
    case stage::chunk_end:
      if (byte == '\n') {
        stage_ = stage::chunk_size;
        chunk_left_ = 0;
      }
      return false;
    case stage::trailer:
      if (byte != '\n') {
        if (byte != '\r') line_empty_ = false;
        return false;
      }
      if (!line_empty_) {
        line_empty_ = true;
        return false;
      }
      stage_ = stage::head;
      return true;
    default:
      return false;
  }
}

}  // namespace understudy
