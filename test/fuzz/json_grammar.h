// JSON's grammar (RFC 8259) as a recursive walk: slow, obvious, and independent of the decoder that it
// checks.
#pragma once

#include <cstddef>
#include <cstdint>

/// Whether bytes are one JSON text. Does not check UTF-8.
class json_grammar {
 public:
  [[nodiscard]] static bool accepts(const uint8_t* bytes, size_t count) {
    json_grammar walk(bytes, bytes + count);
    return walk.value(0) && walk.spaces() && walk.at_ == walk.end_;
  }

 private:
  static constexpr int depth_max = 1024;

  json_grammar(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  bool spaces() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) at_++;
    return true;
  }
  bool take(char byte) {
    if (at_ == end_ || *at_ != static_cast<uint8_t>(byte)) return false;
    at_++;
    return true;
  }
  bool digit(bool hex = false) {
    if (at_ == end_) return false;
    const bool decimal = *at_ >= '0' && *at_ <= '9';
    const bool letter = hex && ((*at_ >= 'a' && *at_ <= 'f') || (*at_ >= 'A' && *at_ <= 'F'));
    at_ += decimal || letter;
    return decimal || letter;
  }
  bool digits() {
    if (!digit()) return false;
    while (digit()) {
    }
    return true;
  }
  bool word(const char* text) {
    for (; *text != 0; text++) {
      if (!take(*text)) return false;
    }
    return true;
  }
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }
  bool escape() {
    for (const char letter : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'}) {
      if (take(letter)) return true;
    }
    return take('u') && digit(true) && digit(true) && digit(true) && digit(true);
  }
  bool string() {
    if (!take('"')) return false;
    while (!take('"')) {
      if (at_ == end_ || *at_ < 0x20) return false;
      if (take('\\')) {
        if (!escape()) return false;
      } else {
        at_++;
      }
    }
    return true;
  }
  bool items(char close, bool named, int depth) {
    spaces();
    if (take(close)) return true;
    do {
      spaces();
      if (named && !(string() && spaces() && take(':'))) return false;
      if (!value(depth)) return false;
      spaces();
    } while (take(','));
    return take(close);
  }
  bool value(int depth) {
    spaces();
    if (at_ == end_ || depth > depth_max) return false;
    switch (*at_) {
      case '{':
        at_++;
        return items('}', true, depth + 1);
      case '[':
        at_++;
        return items(']', false, depth + 1);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  const uint8_t* at_;
  const uint8_t* end_;
};
