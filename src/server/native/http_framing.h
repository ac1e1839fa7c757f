// Follows the framing of HTTP/1.1 requests on one connection, to tell where the request that is being read ends, and keeps
// from the server's parser what that one would misread: bytes of keys, capitals of an expectation, headers without a name,
// extensions of chunks, the last chunk before its trailers are there, trailers, empty lines before a request.
// It judges nothing: what it does not understand it lets pass, and the server's own parser decides.
#pragma once
#include <cstddef>
#include <cstdint>

namespace understudy {

class http_framing {
 public:
  struct step {
    // Of the bytes given, those up to the end of the current request, or the empty lines before it: at least 1.
    std::size_t taken;
    // What the server is to see of those and of what was withheld before, from the front on. It may be nothing.
    std::size_t kept;
  };

  // The end of a chunked body is withheld until all of it is there; so many bytes more than are taken may be kept then.
  static constexpr std::size_t added_bytes_max = 2;

  // Goes over the next `size` bytes of the connection, at least 1, and changes them where the server would misread them.
  // Behind them there is room for `added_bytes_max`; the bytes there and those not taken may be overwritten.
  [[nodiscard]] step advance(char *data, std::size_t size) noexcept;

  // Whether the connection has brought nothing yet.
  [[nodiscard]] bool fresh() const noexcept { return fresh_; }

  // Whether the next byte is the first of a request.
  [[nodiscard]] bool at_start() const noexcept { return stage_ == stage::head && !in_head_; }

  // Bytes of a body of known length that are still to come; while there are any, data need not be looked at.
  [[nodiscard]] std::uint64_t body_bytes_left() const noexcept { return stage_ == stage::body ? left_ : 0; }

  // Takes `size` bytes of such a body as read.
  void skip_body(std::uint64_t size) noexcept;

 private:
  enum class stage : std::uint8_t { head, body, chunk_size, chunk_data, trailer, last_line, opaque };

  bool take_head_byte(char *data, std::size_t at) noexcept;
  void end_header_line() noexcept;
  void begin_body() noexcept;
  void take_chunk_byte(char &byte) noexcept;
  bool take_trailer_byte(char byte) noexcept;

  bool fresh_ = true;
  stage stage_ = stage::head;
  std::uint64_t left_ = 0;
  bool in_head_ = false;
  // Of the head: the line so far, as far as it matters, and what the lines before it said.
  static constexpr std::size_t line_bytes_max = 64;
  char line_[line_bytes_max] = {};
  std::size_t line_size_ = 0;
  bool line_empty_ = true;
  bool chunked_ = false;
  bool length_known_ = false;
  std::uint64_t length_ = 0;
  // Of a chunked body.
  std::uint64_t chunk_left_ = 0;
  bool chunk_extension_ = false;
};

}  // namespace understudy
