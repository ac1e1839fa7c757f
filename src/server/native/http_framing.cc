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
constexpr char in_no_key_or_name = '\x7f';
char masked(char byte) noexcept { return static_cast<unsigned char>(byte) >= 0x80 ? in_no_key_or_name : byte; }

// To uWebSockets a chunked body has ended with the line of its last chunk, and the two bytes behind that line, whichever they
// are, are all that follows it. So this line's end comes to it together with the empty line that ends the trailers: an
// answer that goes out before, and closes the connection, would be lost on who is still sending.
constexpr char end_of_chunks[] = {'\n', '\r', '\n'};

}  // namespace

http_framing::step http_framing::advance(char *data, std::size_t size) noexcept {
  std::size_t at = 0;
  std::size_t withheld = 0;
  if (size > 0) fresh_ = false;
  if (at_start()) {
    // Some clients send an empty line behind a body (RFC 9112, 2.2).
    while (at < size && (data[at] == '\r' || data[at] == '\n')) at++;
    if (at > 0) return {at, 0};
  }
  while (at < size) {
    if (stage_ == stage::opaque) break;
    if (stage_ == stage::body || stage_ == stage::chunk_data) {
      std::uint64_t &left = stage_ == stage::body ? left_ : chunk_left_;
      const std::uint64_t taken = std::min<std::uint64_t>(left, size - at);
      left -= taken;
      at += static_cast<std::size_t>(taken);
      if (left > 0) break;
      if (stage_ == stage::body) {
        stage_ = stage::head;
        return {at, at};
      }
      stage_ = stage::chunk_size;
    } else if (stage_ == stage::head) {
      if (take_head_byte(data, at++) && stage_ == stage::head) return {at, at};
    } else if (stage_ == stage::trailer || stage_ == stage::last_line) {
      const bool ended = take_trailer_byte(data[at++]);
      withheld++;
      if (ended) {
        const std::size_t before = at - withheld;
        std::memcpy(data + before, end_of_chunks, sizeof end_of_chunks);
        return {at, before + sizeof end_of_chunks};
      }
    } else {
      take_chunk_byte(data[at++]);
      if (stage_ == stage::trailer) withheld++;
    }
  }
  return {size, size - withheld};
}

void http_framing::skip_body(std::uint64_t size) noexcept {
  left_ -= std::min(left_, size);
  if (left_ == 0) stage_ = stage::head;
}

// True when the head ends with this byte; then `stage_` says what follows, `head` standing for the next request.
bool http_framing::take_head_byte(char *data, std::size_t at) noexcept {
  const char byte = data[at];
  in_head_ = true;
  if (byte != '\n') {
    if (line_size_ < line_bytes_max && byte != ' ' && byte != '\t') line_[line_size_++] = byte;
    if (byte != '\r') line_empty_ = false;
    // A value may be long and arrive in pieces, so its bytes are masked as they come.
    if (names(line_, line_size_, "authorization:")) data[at] = masked(byte);
    // An expectation in capitals is the same one (RFC 9110, 10.1.1), but not to uWebSockets.
    if (names(line_, line_size_, "expect:")) data[at] = lower(byte);
    // Behind a header without a name uWebSockets sees no other one, and one with such a byte for a name it refuses.
    if (byte == ':' && line_size_ == 1) data[at] = in_no_key_or_name;
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
  in_head_ = false;
  chunked_ = length_known_ = false;
  chunk_left_ = 0;
  chunk_extension_ = false;
  line_empty_ = true;
}

// Up to and without the trailers. uWebSockets takes what an extension says for digits of the size: spaces are in its place,
// at which the size ends.
void http_framing::take_chunk_byte(char &byte) noexcept {
  const char digit = lower(byte);
  if (byte == '\n') {
    chunk_extension_ = false;
    stage_ = chunk_left_ == 0 ? stage::trailer : stage::chunk_data;
    // Behind the data uWebSockets takes two bytes, whichever they are.
    if (stage_ == stage::chunk_data) chunk_left_ += 2;
    line_empty_ = true;
  } else if (chunk_extension_ || byte == ';' || byte == ' ' || byte == '\t' || byte == '\r') {
    chunk_extension_ = true;
    if (byte != '\r') byte = ' ';
  } else if (digit >= '0' && digit <= '9') {
    chunk_left_ = chunk_left_ * 16 + static_cast<unsigned>(digit - '0');
  } else if (digit >= 'a' && digit <= 'f') {
    chunk_left_ = chunk_left_ * 16 + static_cast<unsigned>(digit - 'a' + 10);
  } else {
    stage_ = stage::opaque;
  }
}

// True when the empty line behind the trailers ends with this byte: two bytes, of which the first is an end of line.
bool http_framing::take_trailer_byte(char byte) noexcept {
  if (stage_ == stage::last_line) {
    stage_ = stage::head;
    return true;
  }
  if (line_empty_ && (byte == '\r' || byte == '\n')) {
    stage_ = stage::last_line;
  } else {
    line_empty_ = byte == '\n';
  }
  return false;
}

}  // namespace understudy
